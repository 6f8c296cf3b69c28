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
	// joinTimeout is the maximum time for a join, even under faults.
	joinTimeout = 90 * time.Second
	// leaveTimeout is the maximum time for an expelled host to exit: a majority may be away meanwhile, and the grace
	// period for its beliefs must pass.
	leaveTimeout = 3 * time.Minute
	// refusedPause is the pause before a refused host asks again.
	refusedPause = time.Second
	// stepPatience is how long an open step is waited for.
	stepPatience = 3 * time.Second
)

// operator is the author of host changes.
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

// beginWithMembers starts a membership fault.
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

// operated performs an operator's action, and reports whether it was accepted.
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

// admit starts a joining host, and retries after refusals, until the host serves or time is up.
func (t *trial) admit(i int) {
	for late := time.Now().Add(joinTimeout); ; time.Sleep(refusedPause) {
		if err := t.cluster.start(i); err != nil {
			t.cluster.addProblem(err.Error())
			return
		}
		h := t.cluster.expectExit(i)
		err := h.AwaitReady(time.Until(late)) // checked at the end of the act
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

// joinPhase is the progress of a joining host.
type joinPhase func(dir string, h *incarnation) bool

// joinPhases are all phases, in order.
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

// killJoiner kills a joining host after one of the join phases, until restarted.
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
	_ = h.Await("it has joined so far", restartTimeout, func() bool { // the host is killed in any case
		return phase(t.cluster.places[i].Dir, h)
	})
	t.cluster.kill(i)
	return func() {
		defer free()
		t.admit(i)
	}
}

// wipe removes a host's directory, and lets a host with an empty one replace it. wipe requires that all shards survive
// without the host.
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

// tolerated reports whether all shards survive another host failure.
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

// errUnsafe: a shard may stop after another host failure.
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
		if err != nil && !errors.Is(err, client.ErrNotFound) { // it may have been expelled meanwhile
			t.record.Note("host %s cannot be undrained: %v", name, err)
		}
	}
}

// restartDrained drains a host, kills or stops its process once nothing is left to move, and restarts it. Finally it
// undrains the host.
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
	time.Sleep(f.For / 2) // some hosts exit during the drain, others after it
	if f.Amount < 0.5 {
		t.cluster.stop(h)
	} else {
		t.cluster.kill(h)
	}
	t.up(h)
	return all(undrain, free)
}

// expel removes a running host, and waits until the host has been notified.
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

// killGovernor kills the meta shard's leader.
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
