package machine

import (
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/internal/arena"
)

// Changes fills d with the changes after a revision that was read before, and reuses the memory of d.
func (m *Machine) Changes(r shard.Ref, since shard.Revision, d *shard.Delta) shard.DeltaKind {
	*d = shard.Delta{Joined: d.Joined[:0], Rows: d.Rows[:0], Gone: d.Gone[:0], Bodies: d.Bodies[:0]}
	m.mu.RLock()
	defer m.mu.RUnlock()
	if since > m.lastRevision {
		return shard.DeltaBehind
	}
	h, v, ok := m.lookUp(&r)
	if !ok {
		d.To = m.lastRevision
		return shard.DeltaAbsent
	}
	d.To = v.revision
	if since >= v.revision {
		return shard.DeltaNone
	}
	// At first Gone holds all changed rows.
	if d.Gone, ok = m.history.rowsSince(v.track, since, d.Gone); !ok {
		return shard.DeltaSnapshot
	}
	if !m.kinds[r.Kind].changes(m, h, v, since, d) {
		d.Joined, d.Rows, d.Gone = d.Joined[:0], d.Rows[:0], d.Gone[:0]
		return shard.DeltaSnapshot
	}
	return shard.DeltaChanges
}

// lookUp finds an object and a view of the object. It returns false if either is missing, or if the object is
// deleted.
func (m *Machine) lookUp(r *shard.Ref) (object arena.Handle, v view, ok bool) {
	if r.Kind >= shard.MaxKinds || m.kinds[r.Kind] == nil {
		return 0, view{}, false
	}
	var buf [128]byte
	if object = m.objects.alive(r.Kind, r.Node, append(buf[:0], r.Name...)); object == 0 {
		return 0, view{}, false
	}
	v, ok = m.kinds[r.Kind].view(m, object, r.View)
	return object, v, ok
}
