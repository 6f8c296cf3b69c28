package semaphore

import (
	"encoding/binary"

	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/internal/arena"
	"github.com/signalbox/signalbox/shard/internal/form"
	"github.com/signalbox/signalbox/shard/machine"
)

// This file has the forms of a semaphore outside of the machine's memory: the form for readers, the form in State,
// and the form in a snapshot record.

// shown is the whole view without the name. had is data that the reader has already, and saves a copy if it is equal.
func (sem *semaphores) shown(o *machine.Object, had string) shard.SemaphoreView {
	s := sem.At(o.State)
	return shard.SemaphoreView{
		Data: sem.texts.Again(s.data, had), Limit: s.limit, Count: s.taken, Ephemeral: s.ephemeral,
		Revision: o.Revision, Owners: int(s.owners), Waiters: int(o.Held) - int(s.owners),
	}
}

// AppendState implements machine.Kind: it writes the semaphore out with all of its holdings.
func (sem *semaphores) AppendState(co *machine.Core, object arena.Handle, s *shard.State) {
	o := co.Objects.At(object)
	body := sem.At(o.State)
	out := shard.SemaphoreState{
		Node: co.Objects.Node(o).ID, Name: co.Objects.Name(o), Data: sem.texts.String(body.data), Limit: body.limit,
		Ephemeral: body.ephemeral, Revision: o.Revision,
	}
	for h := co.Holdings.First(o); h != 0; h = co.Holdings.Next(h) {
		out.Links = append(out.Links, co.Holdings.State(co.Holdings.At(h)))
	}
	s.Semaphores = append(s.Semaphores, out)
}

// Save appends the flag, the limit and the data. Owners and waiters are records of their own.
func (sem *semaphores) Save(dst []byte, body arena.Handle) []byte {
	s := sem.At(body)
	ephemeral := byte(0)
	if s.ephemeral {
		ephemeral = 1
	}
	dst = append(dst, ephemeral)
	dst = binary.AppendUvarint(dst, s.limit)
	return form.AppendBytes(dst, sem.texts.Bytes(s.data))
}

// Load reads what Save has appended. The counts of owners follow with the holdings, in Linked.
func (sem *semaphores) Load(src []byte) (arena.Handle, bool) {
	r := form.Input{Data: src}
	ephemeral := r.Byte() == 1
	limit := r.Number()
	data := r.Bytes()
	if !r.Sound() || len(r.Data) > 0 || limit == 0 || len(data) > shard.MaxData {
		return 0, false
	}
	h := sem.Alloc()
	*sem.At(h) = semaphore{limit: limit, data: sem.texts.Keep(data), ephemeral: ephemeral}
	return h, true
}

// Renew keeps all of a persistent semaphore. An ephemeral semaphore ends with its owners.
func (sem *semaphores) Renew(body arena.Handle, _ *machine.StateRenewal) ([]byte, bool) {
	return sem.Save(nil, body), !sem.At(body).ephemeral
}

// Linked counts the owners in and checks their counts. The limit may have been lowered since, so that owners, and
// waiters behind the first, may have more than the limit.
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
