//go:build linux

package survival_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	sdk "github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/protocol"
)

// awaitRefused waits until a host has exited because it must not take part, and checks its messages.
func (h *host) awaitRefused(say ...string) {
	h.t.Helper()
	code, err := h.Wait(patience)
	if err != nil || code != exitData {
		h.t.Fatalf("it ended with %d, %v\n%s", code, err, h.Errors())
	}
	for _, text := range say {
		if !strings.Contains(h.Errors(), text) {
			h.t.Errorf("it does not say %q:\n%s", text, h.Errors())
		}
	}
}

// counter is a lock whose fencing tokens reveal lost state.
type counter struct {
	t    *testing.T
	box  *sdk.Client
	last uint64
}

// acquire acquires and releases the lock, and checks that its token is larger than all before.
func (c *counter) acquire() {
	c.t.Helper()
	s, err := c.box.Session(c.t.Context(), "/three")
	if err != nil {
		c.t.Fatal(err)
	}
	lease, err := s.Ephemeral("lock").Acquire(c.t.Context())
	if err != nil {
		c.t.Fatal(err)
	}
	if got := lease.Fence(); got <= c.last {
		c.t.Errorf("fencing token %d after %d", got, c.last)
	} else {
		c.last = got
	}
	if err := errors.Join(lease.Release(c.t.Context()), s.Close(c.t.Context())); err != nil {
		c.t.Fatal(err)
	}
}

// write writes down a value.
func (c *counter) write(value string) {
	c.t.Helper()
	for {
		err := c.box.Node("/three").Create(c.t.Context(), "written-"+value, 1, []byte(value))
		switch {
		case errors.Is(err, sdk.ErrUnavailable): // possibly sent to a killed host
		case err == nil, errors.Is(err, sdk.ErrAlreadyExists):
			return
		default:
			c.t.Fatal(err)
		}
	}
}

// has checks a value with a STRICT read.
func (c *counter) has(value string) {
	c.t.Helper()
	d, err := c.box.Node("/three").Describe(c.t.Context(), "written-"+value, sdk.WithConsistency(sdk.Strict))
	if err != nil || string(d.Data) != value {
		c.t.Errorf("%s is read as %q, %v", value, d.Data, err)
	}
}

func newCounter(t *testing.T, places []*place) *counter {
	t.Helper()
	var list []string
	for _, p := range places {
		list = append(list, p.Client)
	}
	box, err := sdk.Open(t.Context(), strings.Join(list, ","))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = box.Close() })
	return &counter{t: t, box: box}
}

// TestAWipedHostDoesNotVoteWithoutItsMemory: what a and b confirmed while c was down is known to a alone once b is
// wiped. b and c are a majority, and must not serve.
func TestAWipedHostDoesNotVoteWithoutItsMemory(t *testing.T) {
	places, hosts := three(t)
	c := newCounter(t, places)
	cluster := hosts[0].status().Cluster.ID
	c.write("one")
	hosts[2].Kill()
	c.write("two")
	for range 3 {
		c.acquire()
	}
	hosts[0].Kill()
	hosts[1].Kill()
	if err := os.RemoveAll(places[1].Dir); err != nil {
		t.Fatal(err)
	}
	hosts[1], hosts[2] = places[1].serve(t), places[2].serve(t)
	hosts[1].awaitRefused("host c is in cluster "+cluster, "another data directory of host b",
		"signalbox serve --join "+places[2].Raft+" --name b --replace b")
	if code, text := hosts[2].Get("/health/ready"); code == 200 {
		t.Errorf("c alone is ready: %s", text)
	}
	hosts[0] = places[0].serve(t)
	hosts[0].awaitReady()
	hosts[2].awaitReady()
	c.has("one")
	c.has("two")
	c.acquire()
	// A wiped host is refused by every live host, however often it is started.
	places[1].serve(t).awaitRefused("signalbox serve --join ")
}

// TestAnOlderCopyOfADirectoryIsNoHost: a copy is taken, the host runs on, and the copy is put back.
func TestAnOlderCopyOfADirectoryIsNoHost(t *testing.T) {
	places, hosts := three(t)
	c := newCounter(t, places)
	b := places[1]
	hosts[1].stop()
	kept := filepath.Join(t.TempDir(), "copy")
	cloneDisk(t, b.Dir, kept)
	hosts[1] = b.serve(t)
	hosts[1].awaitReady()
	hosts[2].Kill()
	c.write("one")
	hosts[1].Kill()
	putBack := func() {
		if err := os.RemoveAll(b.Dir); err != nil {
			t.Fatal(err)
		}
		copyDirectory(t, kept, b.Dir)
	}
	putBack()
	b.serve(t).awaitRefused("the data directory of host b is an older copy", "--name b --replace b")

	// Without another running host it cannot detect the loss; it exits when another host starts. It has served no
	// client by then.
	hosts[0].Kill()
	putBack()
	older := b.serve(t)
	older.await("its page answers", func() bool { code, _ := older.Get("/health/live"); return code == 200 })
	hosts[0] = places[0].serve(t)
	older.awaitRefused("the data directory of host b is an older copy")
	hosts[2] = places[2].serve(t)
	hosts[0].awaitReady()
	hosts[2].awaitReady()
	c.has("one")
}

// TestWipedHostsBootstrapANewCluster: no host is left that could object.
func TestWipedHostsBootstrapANewCluster(t *testing.T) {
	places, hosts := three(t)
	before := hosts[0].status().Cluster.ID
	for i, h := range hosts {
		h.Kill()
		if err := os.RemoveAll(places[i].Dir); err != nil {
			t.Fatal(err)
		}
	}
	hosts = serveAll(t, places)
	newNode(t, hosts, "/three", protocol.NodeConfig{})
	if after := hosts[0].status().Cluster.ID; after == before {
		t.Errorf("the cluster is %s as before", after)
	}
}
