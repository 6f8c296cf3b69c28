package machine

import (
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/internal/arena"
	"github.com/signalbox/signalbox/shard/internal/assert"
)

// semaphore is the state of a semaphore beside the common part of all objects.
type semaphore struct {
	limit     uint64
	taken     uint64 // the sum of the owners' counts
	data      arena.Text
	owners    uint32
	ephemeral bool

	// The revisions of the last change of data and limit that the replica saw.
	dataRevision, limitRevision shard.Revision
}

// semaphores is the store and the rules of the kind.
type semaphores struct {
	arena.Slab[semaphore]
	texts arena.Texts // their data
	PlainHoldings
	SmallStates
}

func (co *Core) semaphores() *semaphores { return co.Kind(shard.KindSemaphore).(*semaphores) }

// fits reports whether the count is free. The owners may have more than the limit, after the limit was lowered.
func (s *semaphore) fits(count uint64) bool { return s.taken <= s.limit && count <= s.limit-s.taken }

// reportedLimit is the limit in answers to acquires: 0 for an ephemeral semaphore, which has no limit.
func (s *semaphore) reportedLimit() uint64 {
	if s.ephemeral {
		return 0
	}
	return s.limit
}

// limitOf is the limit in the answer to an acquire of the object.
func (sem *semaphores) limitOf(m *Core, object arena.Handle) uint64 {
	return sem.At(m.Objects.At(object).State).reportedLimit()
}

// addOwner counts an owner in.
func (s *semaphore) addOwner(count uint64) {
	assert.That(s.fits(count), "a semaphore gives out no more than its limit")
	s.taken += count
	s.owners++
}

// removeOwner counts an owner out.
func (s *semaphore) removeOwner(count uint64) {
	assert.That(s.owners > 0 && s.taken >= count, "a semaphore gets back what it gave out")
	s.taken -= count
	s.owners--
}

// limitForm is for commands with a limit.
func limitForm(c *shard.Command) bool { return c.Count > 0 }

func runCreate(m *Core, c *shard.Command, t *Target) {
	sem := m.semaphores()
	if t.Object != 0 {
		status := protocol.StatusAlreadyExists
		if sem.At(m.Objects.At(t.Object).State).ephemeral {
			status = protocol.StatusPreconditionFailed
		}
		m.Run.Answer(status)
		return
	}
	if !m.Nodes.MayGrow(t.Node, 1, shard.ObjectBytes+len(c.Name)+len(c.Data)) {
		return
	}
	body := sem.Alloc()
	*sem.At(body) = semaphore{limit: c.Count, data: sem.texts.Keep(c.Data)}
	h := m.Objects.Add(shard.KindSemaphore, t, c.Node, c.Name, body)
	m.Run.Answer(protocol.StatusSuccess).Revision = m.NextRevision()
	m.Objects.Changed(h, shard.FlagCreated)
}

func runUpdate(m *Core, c *shard.Command, t *Target) {
	sem := m.semaphores()
	if t.Object == 0 {
		m.Run.Answer(protocol.StatusNotFound)
		return
	}
	o := m.Objects.At(t.Object)
	if c.Order != 0 {
		h := arena.Handle(0)
		if t.Session != 0 {
			h = m.Holdings.Find(o, t.Object, t.Session)
		}
		if h == 0 || !m.Holdings.At(h).Owner || m.Holdings.At(h).Order != c.Order {
			m.Run.Answer(protocol.StatusFenced)
			return
		}
	}
	if c.Revision != 0 && c.Revision != o.Revision {
		m.Run.Answer(protocol.StatusPreconditionFailed)
		return
	}
	s := sem.At(o.State)
	if sem.texts.Is(s.data, c.Data) {
		m.Run.Answer(protocol.StatusSuccess).Revision = o.Revision
		return
	}
	more, n := len(c.Data)-len(sem.texts.Bytes(s.data)), m.Objects.Node(o)
	if !m.Nodes.MayGrow(n, 0, more) {
		return
	}
	m.Snapshots.TouchObject(t.Object)
	m.Nodes.Charge(n, more)
	sem.texts.Replace(&s.data, c.Data)
	s.dataRevision = m.NextRevision()
	m.Run.Answer(protocol.StatusSuccess).Revision = s.dataRevision
	m.Objects.Changed(t.Object, shard.FlagData)
}

// runResize changes the limit. What is owned stays owned: after a lower limit nothing is granted until enough was
// given back.
func runResize(m *Core, c *shard.Command, t *Target) {
	sem := m.semaphores()
	if t.Object == 0 {
		m.Run.Answer(protocol.StatusNotFound)
		return
	}
	o := m.Objects.At(t.Object)
	if sem.At(o.State).ephemeral || c.Revision != 0 && c.Revision != o.Revision {
		m.Run.Answer(protocol.StatusPreconditionFailed)
		return
	}
	s := sem.At(o.State)
	if s.limit == c.Count {
		m.Run.Answer(protocol.StatusSuccess).Revision = o.Revision
		return
	}
	m.Snapshots.TouchObject(t.Object)
	s.limit, s.limitRevision = c.Count, m.NextRevision()
	m.Run.Answer(protocol.StatusSuccess).Revision = s.limitRevision
	flags := shard.FlagData | shard.FlagLimit
	if sem.runQueue(m, t.Object, 0) {
		flags |= shard.FlagOwners
	}
	m.Objects.Changed(t.Object, flags)
}

func runDelete(m *Core, c *shard.Command, t *Target) {
	sem := m.semaphores()
	if t.Object == 0 {
		m.Run.Answer(protocol.StatusNotFound)
		return
	}
	o := m.Objects.At(t.Object)
	if sem.At(o.State).ephemeral || o.Held > 0 && c.Flags&shard.FlagForce == 0 {
		m.Run.Answer(protocol.StatusPreconditionFailed)
		return
	}
	sem.Remove(m, t.Object)
	m.Run.Answer(protocol.StatusSuccess)
}

// Remove deletes a semaphore with its links: waiters get Aborted, then owners get Lost. If the links are too many for
// the command, the semaphore counts as deleted all the same, and the rest of the links is pending.
func (sem *semaphores) Remove(m *Core, object arena.Handle) {
	o := m.Objects.At(object)
	for o.Held > 0 && m.Run.Left > 0 {
		h := o.FirstWaiter
		if h != 0 {
			m.Holdings.Abort(h, protocol.AbortDeleted)
		} else {
			h = m.Holdings.First(o)
			m.Holdings.Lose(h)
			sem.At(o.State).removeOwner(m.Holdings.At(h).Count)
		}
		m.Holdings.Remove(h)
	}
	if !o.Deleting {
		m.Objects.Changed(object, shard.FlagData|shard.FlagOwners|shard.FlagDeleted)
	}
	m.Pending.EndRemove(object)
}

// StateSize is the length of the semaphore's data.
func (sem *semaphores) StateSize(body arena.Handle) int {
	return len(sem.texts.Bytes(sem.At(body).data))
}

// FreeState gives the store's place back.
func (sem *semaphores) FreeState(body arena.Handle) {
	sem.texts.Free(sem.At(body).data)
	sem.Slab.Release(body)
}
