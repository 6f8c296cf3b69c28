//go:build linux

package survival_test

import (
	"errors"
	"fmt"
	"iter"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	sdk "github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/protocol"
)

// savedFrom saves a backup through a host.
func savedFrom(t *testing.T, p *place) (file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "cluster.backup")
	out, err := exec.Command(program.Path, "--endpoints", p.Client, "backup", "save", file).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return file
}

// restored creates a new cluster from a backup in a stopped host's place, and returns its first host.
func restored(t *testing.T, file string, old *place, generation int, args ...string) *host {
	t.Helper()
	fresh := *old.Place
	fresh.Dir, fresh.Args = fmt.Sprint(old.Dir, "-restored-", generation), []string{"--name", old.Name}
	args = append([]string{"backup", "restore", file, "--data-dir", fresh.Dir, "--name", old.Name, "--access", "keep",
		"--raft-advertise", old.Raft}, args...)
	out, err := exec.Command(program.Path, args...).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "generation 1") {
		t.Fatalf("%v\n%s", err, out)
	}
	h := (&place{&fresh}).serve(t)
	h.awaitReady()
	return h
}

// TestAClusterIsRestoredTwiceFromOneBackup: the backup is saved under load. Each restored cluster has everything
// acknowledged before the backup, and no sessions; every fencing token is above all earlier ones, including those from
// the first restored cluster.
func TestAClusterIsRestoredTwiceFromOneBackup(t *testing.T) {
	t.Parallel()
	places, a := growing(t, "a", "b")
	newNode(t, []*host{a}, "/three", protocol.NodeConfig{})
	b := places[1].serve(t)
	b.awaitReady()
	c := newCounter(t, places[:1])
	c.write("one")
	c.acquire()
	holding, err := start([]string{places[0].Client}, "/growing", time.Minute, newRecord(t))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := holding.acquire("held"); err != nil {
		t.Fatal(err)
	}
	watched := c.watch("one")
	watched("one")

	l := newLoadAt(t, []string{places[0].Client}, "/growing", sessions, 2, 2)
	l.progress(10)
	file := savedFrom(t, places[0])
	l.progress(10)
	l.check()
	c.write("later")
	if err := c.box.Node("/three").Update(t.Context(), "written-one", []byte("changed")); err != nil {
		t.Fatal(err)
	}
	watched("changed")
	for range 3 {
		c.acquire()
	}
	a.Kill()
	b.Kill()

	// With the old cluster's id, clients reconnect automatically.
	first := restored(t, file, places[0], 1, "--keep-cluster-id")
	began := time.Now()
	c.above(1 << 40)
	c.has("one")
	c.lacks("later")
	watched("one") // a watch continues with the new cluster's state
	if _, err := holding.reattach(); err == nil || !strings.Contains(err.Error(), "EXPIRED") {
		t.Errorf("a session of before: %v", err)
	}
	c.free("/growing", "held")
	holding.disconnect()
	b = places[1].serve(t)
	b.awaitRefused("the cluster was rebuilt without the refused host", "signalbox serve --join")
	if err := os.RemoveAll(places[1].Dir); err != nil {
		t.Fatal(err)
	}
	b = places[1].serve(t)
	b.awaitReady()
	for range 3 {
		c.acquire()
	}
	first.Kill()
	b.Kill()

	time.Sleep(time.Until(began.Add(time.Second))) // the second cluster must be later by this clock
	restored(t, file, places[0], 2, "--keep-cluster-id", "--shards", "3")
	c.above(1)
	c.has("one")
	c.lacks("later")
}

// above acquires a token that must exceed the last one by at least jump.
func (c *counter) above(jump uint64) {
	c.t.Helper()
	before := c.last
	c.acquire()
	if c.last < before+jump {
		c.t.Errorf("fencing token %d after %d", c.last, before)
	}
}

// lacks checks that a value is missing.
func (c *counter) lacks(value string) {
	c.t.Helper()
	_, err := c.box.Node("/three").Describe(c.t.Context(), "written-"+value, sdk.WithConsistency(sdk.Strict))
	if !errors.Is(err, sdk.ErrNotFound) {
		c.t.Errorf("%s: %v", value, err)
	}
}

// free checks that no session owns an earlier ephemeral lock.
func (c *counter) free(path, name string) {
	c.t.Helper()
	d, err := c.box.Node(path).Describe(c.t.Context(), name, sdk.WithOwners(), sdk.WithConsistency(sdk.Strict))
	if !errors.Is(err, sdk.ErrNotFound) {
		c.t.Errorf("%s is %+v, %v", name, d, err)
	}
}

// watch watches a value. The returned function waits until the value has changed.
func (c *counter) watch(name string) func(value string) {
	next, stop := iter.Pull2(c.box.Node("/three").Watch(c.t.Context(), "written-"+name))
	c.t.Cleanup(stop)
	return func(value string) {
		c.t.Helper()
		for {
			view, err, _ := next()
			if err != nil {
				c.t.Fatalf("while it is to become %s: %v", value, err)
			}
			if string(view.Data) == value {
				return
			}
		}
	}
}
