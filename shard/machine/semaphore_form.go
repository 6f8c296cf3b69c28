package machine

import (
	"encoding/binary"

	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/internal/arena"
	"github.com/signalbox/signalbox/shard/internal/form"
)

// This file has the forms of a semaphore outside of the machine's memory: the form for readers, the form in State,
// and the form in a record.

// shown is the whole view without the name. had is data that the reader has already.
func (sem *semaphores) shown(o *object, had string) shard.SemaphoreView {
	s := sem.At(o.body)
	return shard.SemaphoreView{
		Data: sem.texts.Again(s.data, had), Limit: s.limit, Count: s.taken, Ephemeral: s.ephemeral,
		Revision: o.revision, Owners: int(s.owners), Waiters: int(o.linkCount) - int(s.owners),
	}
}

func (sem *semaphores) state(m *Core, object arena.Handle, s *shard.State) {
	o := m.Objects.At(object)
	body := sem.At(o.body)
	out := shard.SemaphoreState{
		Node: m.Objects.node(o).id, Name: m.Objects.name(o), Data: sem.texts.String(body.data), Limit: body.limit,
		Ephemeral: body.ephemeral, Revision: o.revision,
	}
	for h := m.Holdings.byObject.First(o.links); h != 0; h = m.Holdings.byObject.Next(h) {
		out.Links = append(out.Links, m.Holdings.State(m.Holdings.At(h)))
	}
	s.Semaphores = append(s.Semaphores, out)
}

func (sem *semaphores) save(dst []byte, body arena.Handle) []byte {
	s := sem.At(body)
	ephemeral := byte(0)
	if s.ephemeral {
		ephemeral = 1
	}
	dst = append(dst, ephemeral)
	dst = binary.AppendUvarint(dst, s.limit)
	return form.AppendBytes(dst, sem.texts.Bytes(s.data))
}

func (sem *semaphores) load(src []byte) (arena.Handle, bool) {
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

// renew keeps all of a persistent semaphore.
func (sem *semaphores) renew(body arena.Handle, _ *renewal) ([]byte, bool) {
	return sem.save(nil, body), !sem.At(body).ephemeral
}

// linked counts the owners in and checks their counts. The limit may have been lowered since, so that owners, and
// waiters behind the first, may have more than the limit.
func (sem *semaphores) linked(m *Core, object arena.Handle) error {
	o := m.Objects.At(object)
	s := sem.At(o.body)
	for h := m.Holdings.byObject.First(o.links); h != 0; h = m.Holdings.byObject.Next(h) {
		l := m.Holdings.At(h)
		switch {
		case l.count == 0 || h == o.firstWaiter && !o.pending && l.count > s.limit:
			return badSnapshot("semaphore %q: order id %d has a count of %d, the limit is %d",
				m.Objects.name(o), l.order, l.count, s.limit)
		case l.owner && l.count > shard.Forever-s.taken:
			return badSnapshot("semaphore %q: the counts of its owners overflow", m.Objects.name(o))
		case l.owner:
			s.taken += l.count
			s.owners++
		}
	}
	if o.pending {
		return nil // a waiter that fits may be pending, and owners too
	}
	if s.ephemeral && s.owners == 0 {
		return badSnapshot("the ephemeral semaphore %q has no owner", m.Objects.name(o))
	}
	if o.firstWaiter != 0 && s.fits(m.Holdings.At(o.firstWaiter).count) {
		return badSnapshot("semaphore %q: the first waiter fits and waits", m.Objects.name(o))
	}
	return nil
}
