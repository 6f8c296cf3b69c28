//go:build linux

package chaos

import (
	"slices"
	"time"
)

// mendPatience is how long a fault waits for hosts that it has started again, to count as over. Other faults may
// keep them from being ready; in the end all have to be.
const mendPatience = 15 * time.Second

// begin lets a fault happen, and returns what heals it; nil where it makes no sense at the moment.
func (s *stage) begin(f Fault) (heal func()) {
	if lie := s.lies[f.Kind]; lie != nil {
		return lie(s, f)
	}
	switch f.Kind {
	case KillOne:
		return s.crash(f.Order[:1]...)
	case KillLeader:
		return s.atLeader(func(h int) func() { return s.crash(h) })
	case KillTwo:
		return s.crash(f.Order[:2]...)
	case KillAll:
		return s.crash(f.Order...)
	case CrashRound:
		return s.round(f.Order, s.cluster.kill)
	case RestartRound:
		return s.round(f.Order, s.cluster.stop)
	case HandOver:
		return s.atLeader(func(h int) func() { return s.down(s.cluster.stop, h) })
	case PauseHost:
		return s.pause(f.host())
	case PauseLeader:
		return s.atLeader(s.pause)
	case FullDisk:
		return s.fill(f)
	case PauseClient, KillClient:
		return s.beginAtClient(f)
	}
	return s.beginOnLinks(f)
}

// beginOnLinks lets a fault of the network happen.
func (s *stage) beginOnLinks(f Fault) (heal func()) {
	n, h := s.network, f.host()
	delay := time.Duration(f.Amount * float64(300*time.Millisecond))
	switch f.Kind {
	case Isolate:
		return hold(s.touching(h), bothWays...)
	case IsolateLeader:
		return s.atLeader(func(h int) func() { return hold(s.touching(h), bothWays...) })
	case OneWay:
		to, from := n.around(h)
		if f.Amount < 0.5 {
			to, from = from, to
		}
		return both(hold(to, there), hold(from, back))
	case CutOff:
		return hold(append(s.touching(h), n.between(h)...), bothWays...)
	case SlowHosts:
		return each(n.all(), func(l *Link) func() { return l.Delay(delay) })
	case Narrow:
		rate := 4<<10 + int(f.Amount*float64(60<<10))
		return each(n.all(), func(l *Link) func() { return l.Throttle(rate) })
	case ResetHosts:
		return breakAll(s.touching(h))
	case ResetClients:
		return breakAll(n.between(h))
	case LoseClients:
		return each(n.between(h), (*Link).Lose)
	case Apart:
		return n.clients[f.Client][h].Hold(bothWays...)
	case ApartOneWay:
		return n.clients[f.Client][h].Hold(pickWay(f.Amount))
	case SlowClient:
		return each(n.clients[f.Client], func(l *Link) func() { return l.Delay(delay) })
	}
	panic("chaos: a fault of an unknown kind: " + string(f.Kind))
}

// beginAtClient lets a client's process stand still, or end.
func (s *stage) beginAtClient(f Fault) (heal func()) {
	x := s.far(f.far())
	if x == nil {
		return nil
	}
	if f.Kind == PauseClient {
		return x.pause()
	}
	s.forget(f.far())
	x.kill()
	return func() { s.replace(f.far()) }
}

func pickWay(amount float64) way {
	if amount < 0.5 {
		return there
	}
	return back
}

// touching are the links between a host and the other ones.
func (s *stage) touching(h int) []*Link {
	to, from := s.network.around(h)
	return slices.Concat(to, from)
}

func hold(links []*Link, ways ...way) (heal func()) {
	return each(links, func(l *Link) func() { return l.Hold(ways...) })
}

func breakAll(links []*Link) (heal func()) {
	for _, l := range links {
		l.Reset()
	}
	return func() {}
}

// each does something to links, and returns what undoes it.
func each(links []*Link, do func(*Link) func()) (undo func()) {
	var all []func()
	for _, l := range links {
		all = append(all, do(l))
	}
	return both(all...)
}

// both runs all functions.
func both(all ...func()) func() {
	return func() {
		for _, f := range all {
			f()
		}
	}
}

// atLeader hits whoever leads, if anybody does.
func (s *stage) atLeader(hit func(host int) func()) (heal func()) {
	if h := s.cluster.leader(); h >= 0 {
		return hit(h)
	}
	return nil
}

// crash kills hosts, until they are started again.
func (s *stage) crash(list ...int) (heal func()) { return s.down(s.cluster.kill, list...) }

// down ends hosts, until they are started again.
func (s *stage) down(end func(int), list ...int) (heal func()) {
	free, ok := s.cluster.claim(list...)
	if !ok {
		return nil
	}
	for _, h := range list {
		end(h)
	}
	return func() {
		defer free()
		s.up(list...)
	}
}

// up starts hosts, and waits until they serve, if nothing else keeps them from it.
func (s *stage) up(list ...int) {
	for _, h := range list {
		if err := s.cluster.start(h); err != nil {
			s.cluster.note(err.Error())
			return
		}
	}
	deadline := time.Now().Add(mendPatience)
	for _, h := range list {
		_ = s.cluster.host(h).AwaitReady(time.Until(deadline)) // the end of the act tells
	}
}

// round ends all hosts and starts them again, one after the other.
func (s *stage) round(order []int, end func(int)) (heal func()) {
	free, ok := s.cluster.claim(order...)
	if !ok {
		return nil
	}
	defer free()
	for _, h := range order {
		end(h)
		s.up(h)
	}
	return func() {}
}

// pause lets a host stand still.
func (s *stage) pause(h int) (heal func()) {
	free, ok := s.cluster.claim(h)
	if !ok {
		return nil
	}
	resume := s.cluster.pause(h)
	if resume == nil {
		free()
		return nil
	}
	return func() {
		resume()
		free()
	}
}
