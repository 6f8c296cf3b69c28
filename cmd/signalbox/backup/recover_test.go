package backup

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
	"github.com/signalbox/signalbox/protocol/backupfile"
	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/server/backup"
	"github.com/signalbox/signalbox/server/restore"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/kinds"
	"github.com/signalbox/signalbox/shard/machine"
	"github.com/signalbox/signalbox/shard/meta"
)

// survivors writes the exports of two hosts from a cluster with three data shards. Both hosts have the meta shard; host
// a has shard 1, and host b has shard 2.
func survivors(t *testing.T) (a, b string) {
	t.Helper()
	s := backup.NewStates(backupfile.Header{Cluster: "c1", Begun: time.Now().Add(-time.Hour), Shards: 3,
		Level: level.Newest, Version: "1"})
	s.Meta = meta.New()
	var done meta.Effects
	for _, c := range []meta.Command{
		{Kind: meta.CmdRoutingInit, Cluster: "c1", Shards: []meta.ShardID{1, 2, 3}},
		{Kind: meta.CmdHostRegister, Host: meta.Host{ID: 1, Name: "z", RaftAddress: "z:1", ClientAddress: "z:2",
			Version: "1", Level: level.Newest}},
		{Kind: meta.CmdClusterLevel, Raise: level.Newest},
	} {
		s.Meta.Apply(&meta.Batch{Commands: []meta.Command{c}}, &done)
	}
	for _, g := range s.Meta.Routing().Ranges {
		var slots shard.SlotSet
		slots.Add(g.First, g.Last)
		s.Data[g.Shard] = machine.New(kinds.All(), machine.Options{Slots: slots})
		var out shard.Effects
		raise := shard.Command{Kind: shard.CmdLevel, Count: uint64(level.Newest)}
		s.Data[g.Shard].Apply(&shard.Batch{Commands: []shard.Command{raise}}, &out)
	}
	// A cluster recovered from exports keeps the host records.
	dir := filepath.Join(t.TempDir(), "z")
	if _, err := restore.Make(t.Context(), restore.Options{Dir: dir, HostName: "z", KeepID: true}, s); err != nil {
		t.Fatal(err)
	}
	all, err := restore.Read(t.Context(), dir, filepath.Join(t.TempDir(), "scratch"), "1")
	if err != nil {
		t.Fatal(err)
	}
	export := func(host string, has meta.ShardID) string {
		part := backup.NewStates(all.Header)
		part.Header.Host, part.Meta, part.Data[has] = host, all.Meta, all.Data[has]
		part.Sections[0], part.Sections[has] = all.Sections[0], all.Sections[has]
		var file bytes.Buffer
		name := filepath.Join(t.TempDir(), host)
		if err := part.Save(&file); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, file.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	return export("a", 1), export("b", 2)
}

// TestARecoveryNamesAllShardsThatAreMissing with the hosts on record. Recovery creates nothing without
// --accept-data-loss; with the flag, missing shards start empty.
func TestARecoveryNamesAllShardsThatAreMissing(t *testing.T) {
	a, b := survivors(t)
	dir := filepath.Join(t.TempDir(), "new")
	recovering := func(args ...string) (said string, code int) {
		var out, errs bytes.Buffer
		c := Recover(cli.NewFrame(cli.Streams{In: strings.NewReader(""), Out: &out, Err: &errs}))
		c.SetArgs(append(args, "--data-dir", dir, "--name", "n"))
		c.SilenceErrors, c.SilenceUsage = true, true
		err := c.ExecuteContext(t.Context())
		said = out.String() + errs.String()
		if err != nil {
			said += err.Error()
		}
		return said, cli.ExitCode(err)
	}
	for _, x := range []struct {
		args string
		code int
		has  []string
	}{
		{"--yes --from " + a, cli.ExitData, []string{"shard 2: no replica was found; recorded hosts are z",
			"no replica for shard 2, shard 3 ", "more hosts", "--accept-data-loss"}},
		{"--yes --from " + a + "," + b, cli.ExitData, []string{"no replica for shard 3 "}},
		{"--accept-data-loss --from " + a + "," + b, cli.ExitUsage, []string{"including all data in shard 3, ",
			"nothing was done"}},
		{"--from " + a + "," + b + " --export " + dir + ".export", cli.ExitDone, []string{"contains the state of " +
			"host "}},
		{"--yes --from " + dir + ".export", cli.ExitData, []string{"no replica for shard 3 "}},
		{"--yes --accept-data-loss --from " + a + "," + b, cli.ExitDone, []string{"host n of the new cluster"}},
	} {
		said, code := recovering(strings.Fields(x.args)...)
		for _, words := range x.has {
			if code != x.code || !strings.Contains(said, words) || strings.Contains(said, "backup is not") {
				t.Errorf("%s: %d, want %d and %q:\n%s", x.args, code, x.code, words, said)
			}
		}
	}
}
