//go:build linux

package chaos

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/admin"
	"github.com/signalbox/signalbox/server/identity"
	"github.com/signalbox/signalbox/test/workload"
)

const (
	// joinTimeout is how long a host may take to join, whatever faults there are.
	joinTimeout = 90 * time.Second
	// leaveTimeout is how long an expelled host may take to end: a majority may be away meanwhile, and the grace of
	// what it believed has to pass.
	leaveTimeout = 3 * time.Minute
	// refusedPause is the pause of a host that was refused before it asks again.
	refusedPause = time.Second
	// stepPatience is how long an open step is waited for.
	stepPatience = 3 * time.Second
)

// operator is who acts on hosts.
var operator = admin.ChangeInfo{Author: "chaos"}

// setPolicy has the governor act within seconds.
func setPolicy(ctx context.Context, c *client.Client) error {
	return workload.Persist(ctx, func() error {
		_, err := admin.New(c).SetPolicy(ctx, func(p *admin.Policy) {
			p.OfflineAfter, p.ReplaceAfter, p.StableFor = 3*time.Second, 10*time.Second, time.Second
			p.BalanceEvery, p.Copies, p.Replicas = 10*time.Second, 2, replicas
		}, operator)
		return err
	})
}

// beginWithMembers begins a change of the hosts of the cluster.
func (t *trial) beginWithMembers(f Fault) (end func()) {
	name := t.cluster.places[f.host()].Name
	switch f.Kind {
	case Join:
		return t.join()
	case KillJoiner:
		return t.killJoiner(f)
	case Wipe:
		return t.wipe(f.host())
	case Drain:
		return t.drain(name)
	case RestartDrained:
		return t.restartDrained(f)
	case Expel:
		return t.expel(f.host())
	case Transfer:
		if !t.operated(func(ctx context.Context, a *admin.Admin) (bool, error) {
			return a.TransferLeader(ctx, uint64(f.Client)%3, name, operator)
		}) {
			return nil
		}
		return func() {}
	case KillGovernor:
		return t.killGovernor()
	}
	panic("chaos: a change of an unknown kind: " + string(f.Kind))
}

// operated does what an operator does, and reports whether it was taken.
func (t *trial) operated(do func(context.Context, *admin.Admin) (changed bool, err error)) bool {
	ctx, cancel := context.WithTimeout(context.Background(), answerTimeout)
	defer cancel()
	_, err := do(ctx, admin.New(t.direct))
	return err == nil
}

// join has a host join.
func (t *trial) join() (end func()) {
	i, free, ok := t.cluster.claimAbsent()
	if !ok {
		return nil
	}
	defer free()
	t.admit(i)
	return func() {}
}

// admit starts a host that joins, again where it was refused, until it serves or the time is up.
func (t *trial) admit(i int) {
	for late := time.Now().Add(joinTimeout); ; time.Sleep(refusedPause) {
		if err := t.cluster.start(i); err != nil {
			t.cluster.addProblem(err.Error())
			return
		}
		h := t.cluster.expectExit(i)
		err := h.AwaitReady(time.Until(late)) // the end of the act checks it
		select {
		case <-h.Gone():
			t.cluster.removeProcess(i)
		default:
			t.cluster.cancelExit(h)
			return
		}
		if time.Now().After(late) {
			t.cluster.addProblem(err.Error())
			return
		}
	}
}

// joinPhase is how far a host has come that joins.
type joinPhase func(dir string, h *incarnation) bool

// joinPhases are all there are, the first to be reached first.
var joinPhases = []joinPhase{
	identified(func(id *identity.Identity) bool { return id.Starts > 0 }),
	func(_ string, h *incarnation) bool { return strings.Contains(h.Errors(), "the host asks to join") },
	identified((*identity.Identity).Bootstrapped),
	identified(func(id *identity.Identity) bool { return id.Started }),
	func(_ string, h *incarnation) bool {
		status, err := h.Status()
		return err == nil && len(status.Shards) > 0
	},
	func(_ string, h *incarnation) bool { code, _ := h.Get("/health/ready"); return code == 200 },
}

func identified(is func(*identity.Identity) bool) joinPhase {
	return func(dir string, _ *incarnation) bool {
		id, err := identity.Read(dir)
		return err == nil && is(&id)
	}
}

// killJoiner kills a host after one of the phases of its joining, until it is started again.
func (t *trial) killJoiner(f Fault) (end func()) {
	i, free, ok := t.cluster.claimAbsent()
	if !ok {
		return nil
	}
	if err := t.cluster.start(i); err != nil {
		t.cluster.addProblem(err.Error())
		free()
		return nil
	}
	h := t.cluster.expectExit(i)
	phase := joinPhases[int(f.Amount*float64(len(joinPhases)))]
	_ = h.Await("it has joined so far", restartTimeout, func() bool { // where it cannot, it is killed all the same
		return phase(t.cluster.places[i].Dir, h)
	})
	t.cluster.kill(i)
	return func() {
		defer free()
		t.admit(i)
	}
}

// wipe takes a host's directory away, and has a host with an empty one take its place. It is done only where all shards
// go on without it.
func (t *trial) wipe(i int) (end func()) {
	if !t.cluster.leaving.TryLock() {
		return nil
	}
	defer t.cluster.leaving.Unlock()
	free, ok := t.cluster.claim(i)
	if !ok {
		return nil
	}
	defer free()
	if !t.tolerated() {
		return nil
	}
	p := t.cluster.places[i]
	t.cluster.kill(i)
	if err := os.RemoveAll(p.Dir); err != nil {
		t.cluster.addProblem(err.Error())
		return nil
	}
	p.Args = t.cluster.joinArgs(i, "--replace", p.Name)
	t.admit(i)
	return func() {}
}

// tolerated reports whether all shards go on when one more host fails.
func (t *trial) tolerated() bool {
	return t.operated(func(ctx context.Context, a *admin.Admin) (bool, error) {
		c, err := a.Describe(ctx)
		if err != nil || !c.Observed {
			return false, errors.Join(err, errUnsafe)
		}
		for _, s := range c.Shards {
			if s.Tolerated < 1 {
				return false, errUnsafe
			}
		}
		return true, nil
	})
}

// errUnsafe is returned where a shard may stop if one more host fails.
var errUnsafe = errors.New("chaos: not all shards go on without one more host")

// drain drains a host.
func (t *trial) drain(name string) (end func()) {
	if !t.operated(func(ctx context.Context, a *admin.Admin) (bool, error) { return a.Drain(ctx, name, operator) }) {
		return nil
	}
	return func() {
		ctx, cancel := context.WithTimeout(context.Background(), joinTimeout)
		defer cancel()
		err := workload.Persist(ctx, func() error {
			_, err := admin.New(t.direct).Undrain(ctx, name, operator)
			return err
		})
		if err != nil && !errors.Is(err, client.ErrNotFound) { // it may have been expelled since
			t.record.Note("host %s cannot be undrained: %v", name, err)
		}
	}
}

// restartDrained drains a host, ends its process in one of two ways once nothing is left to move, and starts it again.
// It is undrained in the end.
func (t *trial) restartDrained(f Fault) (end func()) {
	h := f.host()
	free, ok := t.cluster.claim(h)
	if !ok {
		return nil
	}
	undrain := t.drain(t.cluster.places[h].Name)
	if undrain == nil {
		free()
		return nil
	}
	time.Sleep(f.For / 2) // some hosts are still being drained when they end, others have been
	if f.Amount < 0.5 {
		t.cluster.stop(h)
	} else {
		t.cluster.kill(h)
	}
	t.up(h)
	return all(undrain, free)
}

// expel makes a host leave while it runs, and waits until it has heard that.
func (t *trial) expel(i int) (end func()) {
	if len(t.cluster.members()) <= hosts || !t.cluster.leaving.TryLock() {
		return nil
	}
	defer t.cluster.leaving.Unlock()
	free, ok := t.cluster.claim(i)
	if !ok {
		return nil
	}
	defer free()
	p, h := t.cluster.places[i], t.cluster.expectExit(i)
	if h == nil {
		return nil
	}
	if !t.operated(func(ctx context.Context, a *admin.Admin) (bool, error) {
		return a.Expel(ctx, p.Name, true, operator)
	}) {
		t.cluster.cancelExit(h)
		return nil
	}
	if code, err := h.Wait(leaveTimeout); err != nil || code != exitRefused {
		t.cluster.addProblem(fmt.Sprintf("host %s was expelled, and ends with %d, %v", p.Name, code, err))
		h.Kill()
	}
	t.cluster.removeProcess(i)
	if err := os.RemoveAll(p.Dir); err != nil {
		t.cluster.addProblem(err.Error())
	}
	t.cluster.leave(i)
	return func() {}
}

// killGovernor kills the host that leads the meta shard.
func (t *trial) killGovernor() (end func()) {
	ctx, cancel := context.WithTimeout(context.Background(), stepPatience)
	defer cancel()
	for workload.Sleep(ctx, pollPause) {
		if why, err := admin.New(t.direct).Why(ctx); err == nil && len(why.Steps) > 0 {
			break
		}
	}
	if i, ok := t.cluster.led(t.cluster.members())[0]; ok {
		return t.crash(i)
	}
	return nil
}
