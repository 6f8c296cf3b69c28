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
	plainLinks
	smallThings
}

func (co *Core) semaphores() *semaphores { return co.kinds[shard.KindSemaphore].(*semaphores) }

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
	return sem.At(m.Objects.At(object).body).reportedLimit()
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

func runCreate(m *Core, c *shard.Command, t *target) {
	sem := m.semaphores()
	if t.object != 0 {
		status := protocol.StatusAlreadyExists
		if sem.At(m.Objects.At(t.object).body).ephemeral {
			status = protocol.StatusPreconditionFailed
		}
		m.Run.Answer(status)
		return
	}
	if !m.Nodes.MayGrow(t.node, 1, shard.ObjectBytes+len(c.Name)+len(c.Data)) {
		return
	}
	body := sem.Alloc()
	*sem.At(body) = semaphore{limit: c.Count, data: sem.texts.Keep(c.Data)}
	h := m.Objects.Add(shard.KindSemaphore, t, c.Node, c.Name, body)
	m.Run.Answer(protocol.StatusSuccess).Revision = m.lastRevision + 1
	m.Objects.Changed(h, shard.FlagCreated)
}

func runUpdate(m *Core, c *shard.Command, t *target) {
	sem := m.semaphores()
	if t.object == 0 {
		m.Run.Answer(protocol.StatusNotFound)
		return
	}
	o := m.Objects.At(t.object)
	if c.Order != 0 {
		h := arena.Handle(0)
		if t.session != 0 {
			h = m.Holdings.find(o, t.object, t.session)
		}
		if h == 0 || !m.Holdings.At(h).owner || m.Holdings.At(h).order != c.Order {
			m.Run.Answer(protocol.StatusFenced)
			return
		}
	}
	if c.Revision != 0 && c.Revision != o.revision {
		m.Run.Answer(protocol.StatusPreconditionFailed)
		return
	}
	s := sem.At(o.body)
	if sem.texts.Is(s.data, c.Data) {
		m.Run.Answer(protocol.StatusSuccess).Revision = o.revision
		return
	}
	more, n := len(c.Data)-len(sem.texts.Bytes(s.data)), m.Objects.node(o)
	if !m.Nodes.MayGrow(n, 0, more) {
		return
	}
	m.Snapshots.TouchObject(t.object)
	m.Nodes.Charge(n, more)
	sem.texts.Replace(&s.data, c.Data)
	s.dataRevision = m.lastRevision + 1
	m.Run.Answer(protocol.StatusSuccess).Revision = s.dataRevision
	m.Objects.Changed(t.object, shard.FlagData)
}

// runResize changes the limit. What is owned stays owned: after a lower limit nothing is granted until enough was
// given back.
func runResize(m *Core, c *shard.Command, t *target) {
	sem := m.semaphores()
	if t.object == 0 {
		m.Run.Answer(protocol.StatusNotFound)
		return
	}
	o := m.Objects.At(t.object)
	if sem.At(o.body).ephemeral || c.Revision != 0 && c.Revision != o.revision {
		m.Run.Answer(protocol.StatusPreconditionFailed)
		return
	}
	s := sem.At(o.body)
	if s.limit == c.Count {
		m.Run.Answer(protocol.StatusSuccess).Revision = o.revision
		return
	}
	m.Snapshots.TouchObject(t.object)
	s.limit, s.limitRevision = c.Count, m.lastRevision+1
	m.Run.Answer(protocol.StatusSuccess).Revision = s.limitRevision
	flags := shard.FlagData | shard.FlagLimit
	if sem.runQueue(m, t.object, 0) {
		flags |= shard.FlagOwners
	}
	m.Objects.Changed(t.object, flags)
}

func runDelete(m *Core, c *shard.Command, t *target) {
	sem := m.semaphores()
	if t.object == 0 {
		m.Run.Answer(protocol.StatusNotFound)
		return
	}
	o := m.Objects.At(t.object)
	if sem.At(o.body).ephemeral || o.linkCount > 0 && c.Flags&shard.FlagForce == 0 {
		m.Run.Answer(protocol.StatusPreconditionFailed)
		return
	}
	sem.remove(m, t.object)
	m.Run.Answer(protocol.StatusSuccess)
}

// remove deletes a semaphore with its links: waiters get Aborted, then owners get Lost. If the links are too many for
// the command, the semaphore counts as deleted all the same, and the rest of the links is pending.
func (sem *semaphores) remove(m *Core, object arena.Handle) {
	o := m.Objects.At(object)
	for o.linkCount > 0 && m.Run.Left > 0 {
		h := o.firstWaiter
		if h != 0 {
			m.Holdings.Abort(h, protocol.AbortDeleted)
		} else {
			h = m.Holdings.byObject.First(o.links)
			m.Holdings.Lose(h)
			sem.At(o.body).removeOwner(m.Holdings.At(h).count)
		}
		m.Holdings.Remove(h)
	}
	if !o.deleting {
		m.Objects.Changed(object, shard.FlagData|shard.FlagOwners|shard.FlagDeleted)
	}
	m.Pending.EndRemove(object)
}

// bodySize is the length of the semaphore's data.
func (sem *semaphores) bodySize(body arena.Handle) int {
	return len(sem.texts.Bytes(sem.At(body).data))
}

// free gives the store's place back.
func (sem *semaphores) free(body arena.Handle) {
	sem.texts.Free(sem.At(body).data)
	sem.Slab.Release(body)
}
