package semaphore

import (
	"encoding/binary"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/internal/arena"
	"github.com/signalbox/signalbox/shard/internal/assert"
	"github.com/signalbox/signalbox/shard/internal/codec"
	"github.com/signalbox/signalbox/shard/machine"
)

// semaphore is a semaphore's state beside the part common to all objects.
type semaphore struct {
	limit     uint64
	taken     uint64 // the sum of the owners' counts
	data      arena.Text
	owners    uint32
	ephemeral bool

	// The last changes to data and limit the replica saw.
	dataRevision, limitRevision shard.Revision
}

// semaphores is the kind's store, with the rules as methods. Semaphores are small and their holdings have no state, so
// the machine copies both at once if a snapshot needs them.
type semaphores struct {
	arena.Slab[semaphore]
	texts arena.Texts // their data
	machine.PlainHoldings
	machine.SmallStates
}

func semaphoresOf(co *machine.Core) *semaphores { return co.Kind(shard.KindSemaphore).(*semaphores) }

// StateSize is the length of the semaphore's data.
func (sem *semaphores) StateSize(body arena.Handle) int {
	return len(sem.texts.Bytes(sem.At(body).data))
}

// FreeState releases the semaphore and its data.
func (sem *semaphores) FreeState(body arena.Handle) {
	sem.texts.Free(sem.At(body).data)
	sem.Slab.Release(body)
}

// shown is the whole view without the name. had is data the reader already has; if it is equal, no copy is made.
func (sem *semaphores) shown(o *machine.Object, had string) shard.SemaphoreView {
	s := sem.At(o.State)
	return shard.SemaphoreView{
		Data: sem.texts.Again(s.data, had), Limit: s.limit, Count: s.taken, Ephemeral: s.ephemeral,
		Revision: o.Revision, Owners: int(s.owners), Waiters: int(o.Held) - int(s.owners),
	}
}

// Save appends the flag, the limit and the data. Owners and waiters have separate records.
func (sem *semaphores) Save(dst []byte, body arena.Handle) []byte {
	s := sem.At(body)
	ephemeral := byte(0)
	if s.ephemeral {
		ephemeral = 1
	}
	dst = append(dst, ephemeral)
	dst = binary.AppendUvarint(dst, s.limit)
	return codec.AppendBytes(dst, sem.texts.Bytes(s.data))
}

// Load decodes what Save has appended. The owners' counts follow with the holdings, in Linked.
func (sem *semaphores) Load(src []byte) (arena.Handle, bool) {
	r := codec.Input{Data: src}
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

// fits reports whether the count is free. The owners may have more than the limit, after the limit was lowered.
func (s *semaphore) fits(count uint64) bool { return s.taken <= s.limit && count <= s.limit-s.taken }

// reportedLimit is the limit in answers to acquires: 0 for an ephemeral semaphore, which has no limit.
func (s *semaphore) reportedLimit() uint64 {
	if s.ephemeral {
		return 0
	}
	return s.limit
}

// addOwner counts a new owner. The caller has checked the count fits.
func (s *semaphore) addOwner(count uint64) {
	assert.That(s.fits(count), "a semaphore gives out no more than its limit")
	s.taken += count
	s.owners++
}

// removeOwner subtracts an owner, before its holding is removed.
func (s *semaphore) removeOwner(count uint64) {
	assert.That(s.owners > 0 && s.taken >= count, "a semaphore gets back what it gave out")
	s.taken -= count
	s.owners--
}

// limitForm checks a command with a limit: a semaphore has a limit of at least 1.
func limitForm(c *shard.Command) bool { return c.Count > 0 }

// runCreate creates a persistent semaphore.
func runCreate(co *machine.Core, c *shard.Command, t *machine.Target) machine.Outcome {
	sem := semaphoresOf(co)
	if t.Object != 0 {
		status := protocol.StatusAlreadyExists
		if sem.At(co.Objects.At(t.Object).State).ephemeral {
			status = protocol.StatusPreconditionFailed
		}
		return machine.Outcome{Status: status}
	}
	if q := co.Nodes.Exceeded(t.Node, 1, shard.ObjectBytes+len(c.Name)+len(c.Data)); q != shard.QuotaNone {
		return machine.OverQuota(q)
	}
	body := sem.Alloc()
	*sem.At(body) = semaphore{limit: c.Count, data: sem.texts.Keep(c.Data)}
	h := co.Objects.Add(shard.KindSemaphore, t, c.Node, c.Name, body)
	co.Run.PlaceResult()
	co.Objects.Changed(h, shard.FlagCreated)
	return machine.Outcome{Revision: co.Objects.At(h).Revision}
}

// runUpdate replaces the data. The command may name the order id under which the session owns the semaphore, and the
// revision the semaphore must have.
func runUpdate(co *machine.Core, c *shard.Command, t *machine.Target) machine.Outcome {
	sem := semaphoresOf(co)
	if t.Object == 0 {
		return machine.Outcome{Status: protocol.StatusNotFound}
	}
	o := co.Objects.At(t.Object)
	if c.Order != 0 {
		h := arena.Handle(0)
		if t.Session != 0 {
			h = co.Holdings.Find(o, t.Object, t.Session)
		}
		if h == 0 || !co.Holdings.At(h).Owner || co.Holdings.At(h).Order != c.Order {
			return machine.Outcome{Status: protocol.StatusFenced}
		}
	}
	if c.Revision != 0 && c.Revision != o.Revision {
		return machine.Outcome{Status: protocol.StatusPreconditionFailed}
	}
	s := sem.At(o.State)
	if sem.texts.Is(s.data, c.Data) {
		return machine.Outcome{Revision: o.Revision}
	}
	more, n := len(c.Data)-len(sem.texts.Bytes(s.data)), co.Objects.Node(o)
	if q := co.Nodes.Exceeded(n, 0, more); q != shard.QuotaNone {
		return machine.OverQuota(q)
	}
	co.Snapshots.TouchObject(t.Object)
	co.Nodes.Charge(n, more)
	sem.texts.Replace(&s.data, c.Data)
	s.dataRevision = co.NextRevision()
	co.Run.PlaceResult()
	co.Objects.Changed(t.Object, shard.FlagData)
	return machine.Outcome{Revision: s.dataRevision}
}

// runResize changes the limit. Owners keep what they own: after a lower limit nothing is granted until they have
// released enough.
func runResize(co *machine.Core, c *shard.Command, t *machine.Target) machine.Outcome {
	sem := semaphoresOf(co)
	if t.Object == 0 {
		return machine.Outcome{Status: protocol.StatusNotFound}
	}
	o := co.Objects.At(t.Object)
	if sem.At(o.State).ephemeral || c.Revision != 0 && c.Revision != o.Revision {
		return machine.Outcome{Status: protocol.StatusPreconditionFailed}
	}
	s := sem.At(o.State)
	if s.limit == c.Count {
		return machine.Outcome{Revision: o.Revision}
	}
	co.Snapshots.TouchObject(t.Object)
	s.limit, s.limitRevision = c.Count, co.NextRevision()
	co.Run.PlaceResult()
	flags := shard.FlagData | shard.FlagLimit
	if sem.runQueue(co, t.Object, 0) {
		flags |= shard.FlagOwners
	}
	co.Objects.Changed(t.Object, flags)
	return machine.Outcome{Revision: s.limitRevision}
}

// runDelete deletes a persistent semaphore. If it has owners or waiters, the command needs the force flag.
func runDelete(co *machine.Core, c *shard.Command, t *machine.Target) machine.Outcome {
	sem := semaphoresOf(co)
	if t.Object == 0 {
		return machine.Outcome{Status: protocol.StatusNotFound}
	}
	o := co.Objects.At(t.Object)
	if sem.At(o.State).ephemeral || o.Held > 0 && c.Flags&shard.FlagForce == 0 {
		return machine.Outcome{Status: protocol.StatusPreconditionFailed}
	}
	sem.Remove(co, t.Object)
	return machine.Outcome{}
}

// Remove deletes a semaphore with its holdings: waiters get Aborted, then owners get Lost. If there are too many
// holdings for the command, the semaphore still counts as deleted, and the rest is pending.
func (sem *semaphores) Remove(co *machine.Core, object arena.Handle) {
	o := co.Objects.At(object)
	for o.Held > 0 && co.Run.Left > 0 {
		h := o.FirstWaiter
		if h != 0 {
			co.Holdings.Abort(h, protocol.AbortDeleted)
		} else {
			h = co.Holdings.First(o)
			co.Holdings.Lose(h)
			sem.At(o.State).removeOwner(co.Holdings.At(h).Count)
		}
		co.Holdings.Remove(h)
	}
	if !o.Deleting {
		co.Objects.Changed(object, shard.FlagData|shard.FlagOwners|shard.FlagDeleted)
	}
	co.Pending.EndRemove(object)
}
