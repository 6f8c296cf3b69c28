package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/cmd/signalbox/inspect"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/datadir"
	"github.com/signalbox/signalbox/server/host"
	"github.com/signalbox/signalbox/server/settings"
	"github.com/signalbox/signalbox/shard/raftlog"
)

// snapshotting runs a host in this process that saves a snapshot after every few batches, until stop.
func snapshotting(t *testing.T, p *place) (box *client.Client, stop func()) {
	t.Helper()
	given, err := settings.Load(settings.Sources{Environment: []string{
		"SIGNALBOX_DATA_DIR=" + p.Dir, "SIGNALBOX_LISTEN=" + p.Client, "SIGNALBOX_ADMIN_LISTEN=off",
		"SIGNALBOX_HTTP_LISTEN=off",
	}})
	if err != nil {
		t.Fatal(err)
	}
	h, err := host.Start(host.Options{Settings: given, Version: programVersion(), AdjustLog: func(c *raftlog.Config) {
		c.SnapshotBytes, c.KeepBytes = 5*raftlog.BatchBytes, raftlog.BatchBytes
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.Close)
	if box, err = client.Open(t.Context(), p.Client); err != nil {
		t.Fatal(err)
	}
	return box, h.Close
}

// appliedIndex returns the applied index of a shard on a single host.
func appliedIndex(t *testing.T, box *client.Client, shard uint64) uint64 {
	t.Helper()
	hosts, err := box.Status(t.Context())
	if err != nil || len(hosts) != 1 || hosts[0].Err != nil {
		t.Fatalf("%+v, %v", hosts, err)
	}
	for _, x := range hosts[0].Shards {
		if x.ID == shard {
			return x.AppliedIndex
		}
	}
	t.Fatalf("there is no shard %d: %+v", shard, hosts[0].Shards)
	return 0
}

func TestInspectShowsWhatIsInADirectory(t *testing.T) {
	p := newPlace(t)
	box, stop := snapshotting(t, p)
	ctx := t.Context()
	for _, path := range []string{"/a", "/b", "/c", "/d", "/e", "/f"} {
		if _, err := box.CreateNode(ctx, path, client.NodeConfig{}); err != nil {
			t.Fatal(err)
		}
	}
	s, err := box.Session(ctx, "/a")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Semaphore("held", client.Limit(2)).Acquire(ctx); err != nil {
		t.Fatal(err)
	}
	// Waits until snapshots contain all changes. One meta shard snapshot may have started too early; the second one
	// cannot.
	var all uint64
	metas := make(map[uint64]bool)
	for n, late := 0, time.Now().Add(patience); ; n++ {
		if time.Now().After(late) {
			t.Fatalf("not within %v: a snapshot of each shard with all of that; of the meta shard there were %d",
				patience, len(metas))
		}
		if _, err := box.CreateNode(ctx, fmt.Sprintf("/more/%d", n), client.NodeConfig{}); err != nil {
			t.Fatal(err)
		}
		if err := box.Node("/b").Create(ctx, fmt.Sprint(n), 1, nil); err != nil {
			t.Fatal(err)
		}
		if n == 0 {
			all = appliedIndex(t, box, 1)
		}
		d, err := datadir.Open(p.Dir)
		if err != nil {
			t.Fatal(err)
		}
		newest, ok := d.Newest(1)
		meta, _ := d.Newest(0)
		metas[meta.Index] = true
		d.Close()
		if ok && newest.Index >= all && len(metas) > 2 {
			break
		}
	}
	x := newTool(t, p.Client)
	r := x.run("inspect", p.Dir)
	if r.code != 0 || !strings.Contains(r.err, " runs on the directory: log and snapshots were not read") ||
		!strings.Contains(r.out, "in use        process ") {
		t.Errorf("while a host runs: %+v", r)
	}
	// Nothing may end the session before the host is gone.
	stop()
	defer box.Close()

	o := parsed[inspect.Object](t, x.ok("inspect", p.Dir, "-o", "json"))
	if o.HostName != "signalbox" || o.HostID != 1 || o.Shards != 1 || !o.Started || o.LogBytes == 0 ||
		len(o.Hosts) != 1 || len(o.Problems) != 0 {
		t.Errorf("%+v", o)
	}
	if len(o.Replicas) != 2 || o.Replicas[0].Shard != 0 {
		t.Fatalf("of the log it says %+v", o.Replicas)
	}
	if r := o.Replicas[1]; r.LastEntry < all || r.Commit < all || r.FirstEntry != r.Snapshot+1 {
		t.Errorf("of the log it says %+v", o.Replicas)
	}
	newest := 0
	for _, s := range o.Snapshots {
		if s.Newest {
			newest++
		}
		if s.Bytes == 0 || s.Index == 0 {
			t.Errorf("%+v", s)
		}
	}
	if newest != 2 {
		t.Errorf("%d newest snapshots: %+v", newest, o.Snapshots)
	}
	found := make(map[string]datadir.Node)
	for _, n := range o.Nodes {
		found[n.Path] = n
	}
	if a := found["/a"]; a.Sessions != 1 || a.Semaphores != 1 || a.Owners != 1 || a.Waiters != 0 {
		t.Errorf("/a has %+v", a)
	}
	if b := found["/b"]; b.Semaphores == 0 || b.Sessions != 0 {
		t.Errorf("/b has %+v", b)
	}
	text := regexp.MustCompile(` +`).ReplaceAllString(x.ok("inspect", p.Dir), " ")
	for _, part := range []string{"host signalbox (id 1)\n", "\nshards 1, and the meta shard\n", "\nin use no\n",
		"\nNodes in the snapshots\n", " /a 1 1 1 0\n"} {
		if !strings.Contains(text, part) {
			t.Errorf("it does not say %q:\n%s", part, text)
		}
	}

	// A byte of a snapshot is changed.
	for _, s := range o.Snapshots {
		if s.Newest && s.Shard == 1 {
			path := filepath.Join(p.Dir, s.Path)
			content, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			content[len(content)/2+600] ^= 1
			if err := os.WriteFile(path, content, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	if r := x.run("inspect", p.Dir); r.code != cli.ExitData ||
		!strings.Contains(r.out, "is damaged: "+p.Dir) || !strings.Contains(r.out, ", from byte 1024 on") {
		t.Errorf("%+v", r)
	}
}

func TestInspectOfWhatIsNoDirectory(t *testing.T) {
	for path, want := range map[string]string{t.TempDir(): "no host has used it",
		"/nowhere": "the directory does not exist"} {
		if code, _, err := command(nil, "inspect", path); code != cli.ExitData || !strings.Contains(err, want) {
			t.Errorf("%s: code %d, %s", path, code, err)
		}
	}
}

func TestInspectOfANewDirectory(t *testing.T) {
	p := newPlace(t)
	s := p.serve(t)
	s.awaitReady()
	s.stop()
	text := newTool(t, p.Client).ok("inspect", p.Dir)
	text = strings.ReplaceAll(text, p.Dir, "DIR")
	text = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`).ReplaceAllString(text, "TIME")
	text = regexp.MustCompile(`[0-9a-f]{32}`).ReplaceAllString(text, "INCARNATION")
	text = regexp.MustCompile(`[0-9a-f]{24}`).ReplaceAllString(text, "CLUSTER")
	text = regexp.MustCompile(`machine  .*`).ReplaceAllString(text, "machine       NAME")
	text = regexp.MustCompile(`log  .*`).ReplaceAllString(text, "log           SIZE")
	text = regexp.MustCompile(`(?m)^    ([01])  .* to .*$`).ReplaceAllString(text, "    $1   ENTRIES")
	golden(t, "inspect.txt", strings.ReplaceAll(text, programVersion(), "VERSION"))
}
