//go:build linux

package survival_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/process"
	"github.com/signalbox/signalbox/client/rollout"
	places "github.com/signalbox/signalbox/server/servertest/process"
)

var memorySizes = flag.String("memory", "128",
	"how many MiB of memory the hosts of the tests of full memory have, such as 128,256,1024")

// fills are client operations that consume a host's memory; each call uses a new name.
var fills = map[string]func(ctx context.Context, c *sdk.Client, name string) error{
	"semaphores": func(ctx context.Context, c *sdk.Client, name string) error {
		return c.Node("/fill").Create(ctx, name, 1, bytes.Repeat([]byte("s"), 512))
	},
	"large data": func(ctx context.Context, c *sdk.Client, name string) error {
		return c.Node("/fill").Create(ctx, name, 1, bytes.Repeat([]byte("l"), 60_000))
	},
	"rollouts": func(ctx context.Context, c *sdk.Client, name string) error {
		spec := rollout.Spec{}
		for i := range 20 {
			location := fmt.Sprintf("location-%d-%s", i, strings.Repeat("r", 50))
			spec.Locations = append(spec.Locations, rollout.Location{Name: location})
		}
		return rollout.New(c, "/fill", name).Create(ctx, spec, rollout.ChangeInfo{Author: "filler", Reason: "to fill"})
	},
	"processes": func(ctx context.Context, c *sdk.Client, name string) error {
		return process.New(c, "/fill", name).Create(ctx, process.Spec{},
			process.ChangeInfo{Author: "filler", Reason: "to fill"})
	},
	"sessions": func(ctx context.Context, c *sdk.Client, _ string) error {
		_, err := c.Session(ctx, "/fill", sdk.SessionTimeout(30*time.Minute),
			sdk.Description(strings.Repeat("d", 900)))
		return err
	},
	"watches": func(ctx context.Context, c *sdk.Client, name string) error {
		opened := make(chan error, 1)
		go func() {
			for _, err := range c.Node("/fill").Watch(context.WithoutCancel(ctx), name) {
				select {
				case opened <- err:
				default:
				}
			}
		}()
		select {
		case err := <-opened:
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	},
}

const (
	fillCallers = 16                      // of each kind
	callTime    = 2 * time.Second         // of one call
	fullFor     = 1500 * time.Millisecond // for how long clients go on after the memory is full
)

// filler is a crowd of clients that fill the memory of a cluster.
type filler struct {
	t       *testing.T
	clients []*sdk.Client
	taken   atomic.Int64 // calls that succeeded
	refused atomic.Int64 // calls refused for a quota or for memory
	calls   sync.WaitGroup
	end     context.CancelFunc
}

// fill starts a crowd.
func fill(t *testing.T, addresses string) *filler {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	f := &filler{t: t, end: cancel}
	for kind, call := range fills {
		c, err := sdk.Open(ctx, addresses)
		if err != nil {
			t.Fatal(err)
		}
		f.clients = append(f.clients, c)
		for i := range fillCallers {
			f.calls.Go(func() {
				for n := 0; ctx.Err() == nil; n++ {
					f.call(ctx, c, fmt.Sprintf("%s/%d/%d", kind, i, n), call)
				}
			})
		}
	}
	return f
}

func (f *filler) call(ctx context.Context, c *sdk.Client, name string,
	call func(context.Context, *sdk.Client, string) error) {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	switch err := call(ctx, c, name); {
	case err == nil:
		f.taken.Add(1)
	case errors.Is(err, sdk.ErrQuotaExceeded), errors.Is(err, sdk.ErrStorageFull):
		f.refused.Add(1)
		<-time.After(time.Millisecond)
	}
}

// awaitFull waits until calls are refused, and goes on for a while.
func (f *filler) awaitFull(h *host) {
	f.t.Helper()
	h.await("memory that is full", func() bool { return f.refused.Load() > fillCallers })
	time.Sleep(fullFor)
}

// stop ends the crowd, with its sessions and watches.
func (f *filler) stop() {
	f.end()
	f.calls.Wait()
	for _, c := range f.clients {
		_ = c.Close()
	}
	f.t.Logf("%d calls were taken, %d refused", f.taken.Load(), f.refused.Load())
}

// bystander locks and unlocks in a separate node.
type bystander struct {
	t       *testing.T
	client  *sdk.Client
	session *sdk.Session
	longest time.Duration
	served  int
}

func newBystander(t *testing.T, addresses string) *bystander {
	t.Helper()
	c, err := sdk.Open(t.Context(), addresses)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	for _, path := range []string{"/others", "/fill"} {
		if _, err := c.CreateNode(t.Context(), path, sdk.NodeConfig{}); err != nil {
			t.Fatal(err)
		}
	}
	s, err := c.Session(t.Context(), "/others", sdk.SessionTimeout(time.Minute), sdk.Recreate())
	if err != nil {
		t.Fatal(err)
	}
	return &bystander{t: t, client: c, session: s}
}

// cycle is a lock and an unlock.
func (b *bystander) cycle() {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), patience)
	defer cancel()
	began := time.Now()
	lease, err := b.session.Semaphore("lock", sdk.Limit(1)).Acquire(ctx)
	if err == nil {
		err = lease.Release(ctx)
	}
	if err != nil {
		b.t.Errorf("another client is not served: %v", err)
		return
	}
	b.served++
	b.longest = max(b.longest, time.Since(began))
}

// during locks and unlocks until something has been done.
func (b *bystander) during(do func()) {
	b.t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		do()
	}()
	for {
		b.cycle()
		select {
		case <-done:
			b.t.Logf("another client locked %d times, for %v at most", b.served, b.longest)
			return
		default:
		}
	}
}

// empty deletes the crowd's objects, and waits until the shard has capacity for as many again.
func (b *bystander) empty(h *host) {
	b.t.Helper()
	if err := b.client.DropNode(b.t.Context(), "/fill"); err != nil {
		b.t.Fatal(err)
	}
	h.await("shard that is empty", func() bool {
		counted, err := strconv.ParseFloat(h.labelled("signalbox_shard_quota_used_bytes", `shard="1"`), 64)
		return err == nil && counted < 1<<20
	})
	if _, err := b.client.CreateNode(b.t.Context(), "/again", sdk.NodeConfig{}); err != nil {
		b.t.Fatal(err)
	}
	for i := range 50 {
		if err := b.client.Node("/again").Create(b.t.Context(), fmt.Sprint(i), 1, make([]byte, 60_000)); err != nil {
			b.t.Fatalf("memory does not come back: %v", err)
		}
	}
}

// labelled returns the value of a series with a label, as text.
func (h *host) labelled(name, label string) string {
	h.t.Helper()
	return h.metric(name + "{" + label + "}")
}

func mibs(t *testing.T) (all []int) {
	t.Helper()
	for text := range strings.SplitSeq(*memorySizes, ",") {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, n)
	}
	return all
}

// eachGroup runs a test for each version of control groups and each memory size.
func eachGroup(t *testing.T, test func(t *testing.T, version string, mib int)) {
	for version := range cgroupVersions {
		for _, mib := range mibs(t) {
			t.Run(fmt.Sprintf("%s/%d MiB", version, mib), func(t *testing.T) { test(t, version, mib) })
		}
	}
}

// TestClientsThatFillTheMemoryEndNoHost: clients fill the memory with every kind of object, with sessions, watches and
// large data, until refused. Other clients are served, the host can restart with all data, and memory is freed.
func TestClientsThatFillTheMemoryEndNoHost(t *testing.T) {
	eachGroup(t, func(t *testing.T, version string, mib int) {
		group := newCgroup(t, version, "one", mib<<20)
		found, err := places.Places(program, t.TempDir(), []string{"a"})
		if err != nil {
			t.Fatal(err)
		}
		at := &place{found[0]}
		group.confine(t, at)
		h := serveAll(t, []*place{at})[0]
		alive := func(when string) {
			t.Helper()
			if n := group.killed(t); n != 0 {
				t.Fatalf("%s: %d processes were killed for want of memory", when, n)
			}
		}
		b := newBystander(t, at.Client)
		crowd := fill(t, at.Client)
		b.during(func() { crowd.awaitFull(h) })
		alive("when clients filled the memory")
		h.Kill()
		crowd.stop()
		h = at.serve(t)
		h.awaitReady()
		alive("when the host started with it")
		b.cycle()
		b.empty(h)
		b.cycle()
		alive("when it was emptied")
	})
}

// TestAHostThatPromisesTooMuchRefusesBeforeItIsFull: the quotas exceed the host's memory, so growth is refused for lack
// of memory. The host can be restarted, read, and emptied.
func TestAHostThatPromisesTooMuchRefusesBeforeItIsFull(t *testing.T) {
	eachGroup(t, func(t *testing.T, version string, mib int) {
		group := newCgroup(t, version, "promises", mib<<20)
		found, err := places.Places(program, t.TempDir(), []string{"a"}, "--shard-quota-bytes", fmt.Sprint(mib<<20-1))
		if err != nil {
			t.Fatal(err)
		}
		at := &place{found[0]}
		group.confine(t, at)
		h := serveAll(t, []*place{at})[0]
		if !strings.Contains(h.Errors(), "the limits allow") {
			t.Errorf("no warning was logged: %s", h.Errors())
		}
		b := newBystander(t, at.Client)
		if err := b.client.Node("/others").Create(t.Context(), "read", 1, []byte("kept")); err != nil {
			t.Fatal(err)
		}
		read := func() {
			t.Helper()
			d, err := b.client.Node("/others").Describe(t.Context(), "read")
			if err != nil || string(d.Data) != "kept" {
				t.Errorf("read %v, %v", d, err)
			}
		}
		crowd := fill(t, at.Client)
		h.await("refusal for want of memory", func() bool { return h.status().Memory.Refusing })
		time.Sleep(fullFor)
		read()
		h.Kill()
		crowd.stop()
		h = at.serve(t)
		h.awaitReady()
		read()
		b.empty(h)
		if n := group.killed(t); n != 0 {
			t.Errorf("%d processes were killed for want of memory", n)
		}
	})
}

// TestAHostWithLessMemoryThanTheOthersCounts: the shard has the quota of the smallest host, which is not killed, even
// if it returns after clients have filled the other hosts.
func TestAHostWithLessMemoryThanTheOthersCounts(t *testing.T) {
	eachGroup(t, func(t *testing.T, version string, mib int) {
		names := []string{"a", "b", "c"}
		found, err := places.Places(program, t.TempDir(), names)
		if err != nil {
			t.Fatal(err)
		}
		var groups []*cgroup
		var all []*place
		for i, p := range found {
			all = append(all, &place{p})
			size := 2 * mib
			if i == 2 {
				size = mib
			}
			groups = append(groups, newCgroup(t, version, p.Name, size<<20))
			groups[i].confine(t, all[i])
		}
		hosts := serveAll(t, all)
		alive := func(when string) {
			t.Helper()
			for i, g := range groups {
				if n := g.killed(t); n != 0 {
					t.Fatalf("%s: %d processes of host %s were killed for want of memory", when, n, names[i])
				}
			}
		}
		smallest := hosts[2].metric("signalbox_shard_quota_setting_bytes")
		for _, h := range hosts {
			h.await("quota of the smallest host", func() bool {
				return h.labelled("signalbox_shard_quota_limit_bytes", `shard="1"`) == smallest
			})
		}
		addresses := strings.Join(addresses(hosts), ",")
		b := newBystander(t, addresses)
		crowd := fill(t, addresses)
		hosts[2].Kill()
		b.during(func() { crowd.awaitFull(hosts[0]) })
		alive("when clients filled the memory and the smallest host was away")
		hosts[2] = all[2].serve(t)
		hosts[2].awaitReady()
		b.during(func() { time.Sleep(fullFor) })
		alive("when the smallest host came back")
		crowd.stop()
		for i, h := range hosts {
			h.Kill()
			hosts[i] = all[i].serve(t)
		}
		for _, h := range hosts {
			h.awaitReady()
		}
		b.cycle()
		b.empty(hosts[0])
		alive("when all started again and were emptied")
	})
}
