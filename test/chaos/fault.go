//go:build linux

package chaos

import (
	"slices"
	"time"

	"github.com/signalbox/signalbox/test/wire"
)

// restartTimeout is the maximum time that a fault waits for restarted hosts before it counts as over. Other faults may
// delay readiness; at the end all hosts must be ready.
const restartTimeout = 15 * time.Second

// begin starts a fault, and returns a function to end it; nil if not currently possible.
func (t *trial) begin(f Fault) (end func()) {
	if lie := t.lies[f.Kind]; lie != nil {
		return lie(t, f)
	}
	if f.Order = t.cluster.present(f.Order); len(f.Order) == 0 {
		return nil
	}
	switch f.Kind {
	case Join, KillJoiner, Wipe, Drain, RestartDrained, Expel, Transfer, KillGovernor:
		return t.beginWithMembers(f)
	case KillOne:
		return t.crash(f.Order[:1]...)
	case KillLeader:
		return t.atLeader(func(h int) func() { return t.crash(h) })
	case KillTwo:
		return t.crash(f.Order[:2]...)
	case KillAll:
		return t.crash(f.Order...)
	case CrashRound:
		return t.oneAfterAnother(f.Order, t.cluster.kill)
	case RestartRound:
		return t.oneAfterAnother(f.Order, t.cluster.stop)
	case HandOver:
		return t.atLeader(func(h int) func() { return t.down(t.cluster.stop, h) })
	case PauseHost:
		return t.pause(f.host())
	case PauseLeader:
		return t.atLeader(t.pause)
	case FullDisk:
		return t.fill(f)
	case FullStart:
		return t.startWithoutRoom()
	case SlowDisk:
		return t.atLeader(func(h int) func() { return t.slowDisk(h, f.Amount) })
	case SetBack:
		return t.setBack(f)
	case TwoCopies:
		return t.besideItself(f.host())
	case PauseClient, KillClient:
		return t.beginAtClient(f)
	}
	return t.beginOnWires(f)
}

// beginOnWires starts a network fault, unless the network must be calm.
func (t *trial) beginOnWires(f Fault) (end func()) {
	if !t.network.faults.TryRLock() {
		return nil
	}
	if end = t.disturb(f); end == nil {
		t.network.faults.RUnlock()
		return nil
	}
	return all(end, t.network.faults.RUnlock)
}

// disturb starts a network fault.
func (t *trial) disturb(f Fault) (end func()) {
	n, h := t.network, f.host()
	delay := time.Duration(f.Amount * float64(300*time.Millisecond))
	switch f.Kind {
	case Isolate, Lag:
		return hold(t.wiresOf(h), wire.Both...)
	case IsolateLeader:
		return t.atLeader(func(h int) func() { return hold(t.wiresOf(h), wire.Both...) })
	case OneWay:
		to, from := n.Around(h)
		if f.Amount < 0.5 {
			to, from = from, to
		}
		return all(hold(to, wire.Forward), hold(from, wire.Backward))
	case CutOff:
		return hold(append(t.wiresOf(h), n.between(h)...), wire.Both...)
	case SlowHosts:
		return forEach(n.All(), func(w *wire.Wire) func() { return w.Delay(delay) })
	case Narrow:
		rate := 4<<10 + int(f.Amount*float64(60<<10))
		return forEach(n.All(), func(w *wire.Wire) func() { return w.Throttle(rate) })
	case ResetHosts:
		return breakAll(t.wiresOf(h))
	case ResetClients:
		return breakAll(n.between(h))
	case LoseClients:
		return forEach(n.between(h), (*wire.Wire).Lose)
	case Apart:
		return n.clients[f.Client][h].Hold(wire.Both...)
	case ApartOneWay:
		return n.clients[f.Client][h].Hold(directionOf(f.Amount))
	case SlowClient:
		return forEach(n.clients[f.Client], func(w *wire.Wire) func() { return w.Delay(delay) })
	case ResetClient:
		return breakAll(n.clients[f.Client])
	}
	panic("chaos: a fault of an unknown kind: " + string(f.Kind))
}

// beginAtClient pauses or kills a client process.
func (t *trial) beginAtClient(f Fault) (end func()) {
	c := t.remote(f.remote())
	if c == nil {
		return nil
	}
	if f.Kind == PauseClient {
		return c.pause()
	}
	t.killClient(f.remote(), c)
	return func() { t.restartClient(f.remote()) }
}

func directionOf(amount float64) wire.Direction {
	if amount < 0.5 {
		return wire.Forward
	}
	return wire.Backward
}

// wiresOf returns the wires between a host and its peers.
func (t *trial) wiresOf(h int) []*wire.Wire {
	to, from := t.network.Around(h)
	return slices.Concat(to, from)
}

func hold(wires []*wire.Wire, directions ...wire.Direction) (end func()) {
	return forEach(wires, func(w *wire.Wire) func() { return w.Hold(directions...) })
}

func breakAll(wires []*wire.Wire) (end func()) {
	for _, w := range wires {
		w.Reset()
	}
	return func() {}
}

// forEach applies do to wires, and returns a function to undo it.
func forEach(wires []*wire.Wire, do func(*wire.Wire) func()) (undo func()) {
	var undos []func()
	for _, w := range wires {
		undos = append(undos, do(w))
	}
	return all(undos...)
}

// all returns a function that calls all given functions.
func all(functions ...func()) func() {
	return func() {
		for _, f := range functions {
			f()
		}
	}
}

// atLeader starts a fault at the host that leads the most shards, if any.
func (t *trial) atLeader(begin func(host int) func()) (end func()) {
	if h := t.cluster.leader(); h >= 0 {
		return begin(h)
	}
	return nil
}

// crash kills hosts, until restarted.
func (t *trial) crash(list ...int) (end func()) { return t.down(t.cluster.kill, list...) }

// down ends host processes, until restarted.
func (t *trial) down(exit func(int), list ...int) (end func()) {
	free, ok := t.cluster.claim(list...)
	if !ok {
		return nil
	}
	for _, h := range list {
		exit(h)
	}
	return func() {
		defer free()
		t.up(list...)
	}
}

// up starts hosts, and waits until they serve, unless another fault prevents that.
func (t *trial) up(list ...int) {
	for _, h := range list {
		if err := t.cluster.start(h); err != nil {
			t.cluster.addProblem(err.Error())
			return
		}
	}
	deadline := time.Now().Add(restartTimeout)
	for _, h := range list {
		_ = t.cluster.host(h).AwaitReady(time.Until(deadline)) // checked at the end of the act
	}
}

// oneAfterAnother ends and restarts all hosts in turn.
func (t *trial) oneAfterAnother(order []int, exit func(int)) (end func()) {
	free, ok := t.cluster.claim(order...)
	if !ok {
		return nil
	}
	defer free()
	for _, h := range order {
		exit(h)
		t.up(h)
	}
	return func() {}
}

// pause stops a host's process with SIGSTOP.
func (t *trial) pause(h int) (end func()) {
	free, ok := t.cluster.claim(h)
	if !ok {
		return nil
	}
	resume := t.cluster.pause(h)
	if resume == nil {
		free()
		return nil
	}
	return func() {
		resume()
		free()
	}
}
