package semaphore

import (
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/internal/arena"
	"github.com/signalbox/signalbox/shard/machine"
)

// AppendState implements machine.Kind: it appends the semaphore with all its holdings in plain form.
func (sem *semaphores) AppendState(co *machine.Core, object arena.Handle, s *shard.State) {
	o := co.Objects.At(object)
	out := shard.SemaphoreState{Node: co.Objects.Node(o).ID, SemaphoreView: sem.shown(o, "")}
	out.Name = co.Objects.Name(o)
	for h := co.Holdings.First(o); h != 0; h = co.Holdings.Next(h) {
		out.Links = append(out.Links, co.Holdings.State(co.Holdings.At(h)))
	}
	s.Semaphores = append(s.Semaphores, out)
}

// Shift implements machine.Kind: a semaphore has no timestamps.
func (sem *semaphores) Shift(arena.Handle, func(uint64) uint64) {}

// Renew keeps a persistent semaphore completely. An ephemeral semaphore ends with its owners.
func (sem *semaphores) Renew(body arena.Handle, _ *machine.StateRenewal) ([]byte, bool) {
	return sem.Save(nil, body), !sem.At(body).ephemeral
}

// Linked adds up the owners and checks their counts. The limit may have been lowered since, so owners, and waiters
// behind the first, may have more than the limit.
func (sem *semaphores) Linked(co *machine.Core, object arena.Handle) error {
	o := co.Objects.At(object)
	s := sem.At(o.State)
	for h := co.Holdings.First(o); h != 0; h = co.Holdings.Next(h) {
		l := co.Holdings.At(h)
		switch {
		case l.Count == 0 || h == o.FirstWaiter && !o.Pending && l.Count > s.limit:
			return machine.BadSnapshot("semaphore %q: order id %d has a count of %d, the limit is %d",
				co.Objects.Name(o), l.Order, l.Count, s.limit)
		case l.Owner && l.Count > shard.Forever-s.taken:
			return machine.BadSnapshot("semaphore %q: the counts of its owners overflow", co.Objects.Name(o))
		case l.Owner:
			s.taken += l.Count
			s.owners++
		}
	}
	if o.Pending {
		return nil // a waiter that fits may be pending, and owners too
	}
	if s.ephemeral && s.owners == 0 {
		return machine.BadSnapshot("the ephemeral semaphore %q has no owner", co.Objects.Name(o))
	}
	if o.FirstWaiter != 0 && s.fits(co.Holdings.At(o.FirstWaiter).Count) {
		return machine.BadSnapshot("semaphore %q: the first waiter fits and waits", co.Objects.Name(o))
	}
	return nil
}
