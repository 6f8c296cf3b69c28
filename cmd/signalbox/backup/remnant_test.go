package backup

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
	"github.com/signalbox/signalbox/protocol/backupfile"
	"github.com/signalbox/signalbox/server/backup"
	"github.com/signalbox/signalbox/shard/kinds"
	"github.com/signalbox/signalbox/shard/machine"
	"github.com/signalbox/signalbox/shard/meta"
)

// TestARecoverySaysWhatEachSurvivorLacks: the missing entries per shard, and the age of the survivor's data.
func TestARecoverySaysWhatEachSurvivorLacks(t *testing.T) {
	survivor := func(host string, ago time.Duration, at ...backupfile.Section) *backup.States {
		s := backup.NewStates(backupfile.Header{Cluster: "c", Host: host, Begun: time.Now().Add(-ago)})
		s.Meta, s.Data[1] = meta.New(), machine.New(kinds.All(), machine.Options{})
		for i, section := range at {
			section.Shard = uint64(i)
			s.Sections[meta.ShardID(i)] = section
		}
		return s
	}
	all := []*backup.States{
		survivor("a", time.Minute, backupfile.Section{Term: 3, Index: 500}, backupfile.Section{Term: 3, Index: 90}),
		survivor("b", time.Hour, backupfile.Section{Term: 3, Index: 390}, backupfile.Section{Term: 4, Index: 80}),
	}
	best, err := backup.Choose(all)
	if err != nil {
		t.Fatal(err)
	}
	list := remnantsOf([]string{"/a", "/b"}, all, best)
	if a, b := list[0].Shards, list[1].Shards; !a[0].Taken || b[0].Taken || b[0].Lacks != 110 || a[1].Taken ||
		!b[1].Taken || a[0].Lacks != 0 || a[1].Lacks != 0 {
		t.Errorf("%+v", list)
	}
	var said bytes.Buffer
	for i := range list {
		list[i].say(&cli.Frame{Streams: cli.Streams{Err: &said}})
	}
	for _, line := range []string{"shard 0: /a has entries up to term 3, index 500, and is used",
		"shard 0: /b lacks the last 110 entries of the used replica",
		"shard 1: /b has entries up to term 4, index 80, and is used",
		"/b last wrote its log at ", ", 1h0m", "shard 1: /a has entries up to term 3, index 90, and is not used",
	} {
		if !strings.Contains(said.String(), line) {
			t.Errorf("it does not say %q:\n%s", line, said.String())
		}
	}
}
