//go:build unix

package docs_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/admin"
)

var grow = flag.Bool("grow", false, "whether TestClusterGrowsAndShrinksAsTyped runs: minutes, with nine hosts")

// TestClusterGrowsAndShrinksAsTyped types the commands in the guide: a cluster grows from three hosts with 4 shards to
// nine hosts with 16 shards, and shrinks again. Clients lock and unlock meanwhile, and one lock is held all the time:
// no client sees an error.
func TestClusterGrowsAndShrinksAsTyped(t *testing.T) {
	if !*grow {
		t.Skip("make grow runs it")
	}
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("there is no bash")
	}
	page := newOperatingPage(t, 9)
	d := newDesk(t)
	d.environment = []string{"PATH=" + buildSignalbox(t) + ":" + os.Getenv("PATH"),
		"SIGNALBOX_ENDPOINTS=" + page.endpoints, "SIGNALBOX_SHARDS=4"}
	hosts := page.grows(d)
	work := newLockWork(t, page.endpoints)
	commands := page.commands("grow-shrink#Add hosts and shards", 9)
	for i, command := range commands[:6] {
		hosts[string("defghi"[i])] = d.open(command)
	}
	for _, te := range hosts {
		te.await("is ready")
	}
	d.open(commands[6]).awaitEnd("")
	te := d.open(commands[7])
	te.await("shards 5-16 are added")
	te.awaitEnd("")
	page.awaitNothingToDo(d, commands[8])
	work.wantShards(16)

	commands = page.commands("grow-shrink#Remove shards and hosts", 8)
	te = d.open(commands[0])
	te.await("shards 5-16 are to be removed")
	te.awaitEnd("")
	page.awaitNothingToDo(d, commands[1])
	work.wantShards(4)
	for i, command := range commands[2:] {
		name := string("ihgfed"[i])
		te := d.open(command)
		te.await("host " + name + " is expelled")
		te.awaitEnd("")
		hosts[name].awaitRefusal("was expelled")
	}
	work.end()
}

// awaitNothingToDo types a command that waits until the governor has nothing left to do. It may take longer than other
// commands.
func (p *operatingPage) awaitNothingToDo(d *desk, command string) {
	p.t.Helper()
	te := d.open(command)
	select {
	case <-te.over:
	case <-time.After(3 * patience):
		text, _ := te.printed()
		p.t.Fatalf("%s has printed\n%s", command, text)
	}
	te.awaitEnd("")
	te.await("nothing to do")
}

// lockWork locks and unlocks while the cluster changes.
type lockWork struct {
	t      *testing.T
	client *client.Client
	cancel context.CancelFunc
	ended  chan error
	locks  int
}

func newLockWork(t *testing.T, endpoints string) *lockWork {
	t.Helper()
	c, err := client.Open(t.Context(), endpoints)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if _, err := c.CreateNode(t.Context(), "/grow", client.NodeConfig{}); err != nil {
		t.Fatal(err)
	}
	w := &lockWork{t: t, client: c, ended: make(chan error, 1)}
	ctx, cancel := context.WithCancel(t.Context())
	w.cancel = cancel
	s, err := c.Session(ctx, "/grow")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Ephemeral("held").Lock(ctx); err != nil {
		t.Fatal(err)
	}
	go func() { w.ended <- w.run(ctx, s) }()
	return w
}

// run locks and unlocks names in all slots, until the context ends. The session must live all the time.
func (w *lockWork) run(ctx context.Context, s *client.Session) error {
	for ; ctx.Err() == nil; w.locks++ {
		lease, err := s.Ephemeral(fmt.Sprint("lock-", w.locks%1000)).Lock(ctx)
		if err == nil {
			err = lease.Release(ctx)
		}
		if err != nil && ctx.Err() == nil {
			return fmt.Errorf("lock %d: %w", w.locks, err)
		}
		if end := s.Context(); end.Err() != nil && ctx.Err() == nil {
			return fmt.Errorf("the session ended: %w", context.Cause(end))
		}
	}
	return nil
}

// wantShards fails unless so many shards have the same number of slots.
func (w *lockWork) wantShards(count int) {
	w.t.Helper()
	r, err := admin.New(w.client).Rebalancing(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	if len(r.Shards) != count || r.Pending() != 0 {
		w.t.Errorf("%d shards: %+v", count, r)
	}
	for _, s := range r.Shards {
		if s.Phase != "serving" || s.Slots != 4096/count || s.Slots != s.Target {
			w.t.Errorf("the shard is %+v", s)
		}
	}
	select {
	case err := <-w.ended:
		w.t.Fatal(errors.Join(errors.New("the work has ended"), err))
	default:
	}
}

func (w *lockWork) end() {
	w.t.Helper()
	w.cancel()
	if err := <-w.ended; err != nil || w.locks < 1000 {
		w.t.Errorf("after %d locks: %v", w.locks, err)
	}
}
