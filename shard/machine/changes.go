package machine

import (
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/internal/arena"
)

// Changes fills d with the changes since a revision the caller read before, and reuses d's memory.
func (m *Machine) Changes(r shard.Ref, since shard.Revision, d *shard.Delta) shard.DeltaKind {
	*d = shard.Delta{Joined: d.Joined[:0], Rows: d.Rows[:0], Gone: d.Gone[:0], Bodies: d.Bodies[:0]}
	m.mu.RLock()
	defer m.mu.RUnlock()
	h, v, ok := m.core.Objects.lookUp(&r)
	switch {
	case !ok && !m.core.slots.Has(shard.SlotOf(r.Node, []byte(r.Name))):
		return shard.DeltaAway
	case since > m.core.lastRevision:
		return shard.DeltaBehind
	case !ok:
		d.To = m.core.lastRevision
		return shard.DeltaAbsent
	}
	d.To = v.Revision
	if since >= v.Revision {
		return shard.DeltaNone
	}
	// At first Gone holds all changed rows.
	if d.Gone, ok = m.core.History.rowsSince(v.track, since, d.Gone); !ok {
		return shard.DeltaSnapshot
	}
	if !m.core.kinds[r.Kind].Changes(m.core, h, v, since, d) {
		d.Joined, d.Rows, d.Gone = d.Joined[:0], d.Rows[:0], d.Gone[:0]
		return shard.DeltaSnapshot
	}
	return shard.DeltaChanges
}

// lookUp finds an object and one view. It returns false if either is missing, or if the object is deleted.
func (ob *Objects) lookUp(r *shard.Ref) (object arena.Handle, v View, ok bool) {
	if r.Kind >= shard.MaxKinds || ob.core.kinds[r.Kind] == nil {
		return 0, View{}, false
	}
	var buf [128]byte
	if object = ob.Alive(r.Kind, r.Node, append(buf[:0], r.Name...)); object == 0 {
		return 0, View{}, false
	}
	v, ok = ob.core.kinds[r.Kind].View(ob.core, object, r.View)
	return object, v, ok
}
