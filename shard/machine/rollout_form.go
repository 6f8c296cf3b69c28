package machine

import (
	"slices"

	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/internal/arena"
	"github.com/signalbox/signalbox/shard/rollout"
)

// This file has the forms of a rollout outside of the machine's memory.

func (ro *rollouts) save(dst []byte, body arena.Handle) []byte { return ro.At(body).Save(dst) }

func (ro *rollouts) load(src []byte) (arena.Handle, bool) {
	r, err := rollout.Load(src)
	if err != nil {
		return 0, false
	}
	h := ro.Alloc()
	*ro.At(h) = stagedRollout{Rollout: r, charged: r.Size()}
	return h, true
}

func (ro *rollouts) renew(body arena.Handle, n *renewal) ([]byte, bool) {
	return ro.At(body).Renewed(rollout.Renewal{
		Jump: n.jump, Revision: uint64(n.revision), Now: n.now, Later: n.later,
	}), true
}

// The parts of a session in a rollout: the first byte of the body of its link.
const (
	savedInstance byte = 1 << iota
	savedSource
)

func (ro *rollouts) saveLink(dst []byte, body arena.Handle) []byte {
	p := ro.parts.At(body)
	is := byte(0)
	if p.source {
		is |= savedSource
	}
	if !p.joined() {
		return append(dst, is)
	}
	return p.instance.Save(append(dst, is|savedInstance))
}

func (ro *rollouts) loadLink(src []byte) (arena.Handle, bool) {
	if len(src) == 0 || src[0] == 0 || src[0] > savedInstance|savedSource {
		return 0, false
	}
	var i rollout.Instance
	if src[0]&savedInstance == 0 {
		if len(src) > 1 {
			return 0, false
		}
	} else if i.Load(src[1:]) != nil {
		return 0, false
	}
	h := ro.parts.Alloc()
	p := ro.parts.At(h)
	p.instance, p.source = i, src[0]&savedSource != 0
	return h, true
}

// linked puts the instances back into their rollout, and makes the tracks and the alarm again.
func (ro *rollouts) linked(m *Core, object arena.Handle) error {
	o := m.Objects.At(object)
	st := ro.At(o.body)
	st.object = object
	if o.pending && !o.deleting {
		return badSnapshot("rollout %q is pending", m.Objects.name(o))
	}
	if st.WholeRevision() > uint64(o.revision) {
		return badSnapshot("rollout %q is of revision %d, and has changed at %d", m.Objects.name(o), o.revision,
			st.WholeRevision())
	}
	st.restoreTracks()
	sources := 0
	for h := m.Holdings.byObject.First(o.links); h != 0; h = m.Holdings.byObject.Next(h) {
		l := m.Holdings.At(h)
		if l.body == 0 || !l.owner {
			return badSnapshot("rollout %q: order id %d is no part of it", m.Objects.name(o), l.order)
		}
		p := ro.parts.At(l.body)
		p.instance.ID = uint64(l.order)
		if p.source {
			sources++
		}
		if p.joined() {
			if err := st.restoreInstance(ro, l.body); err != nil {
				return badSnapshot("rollout %q: order id %d: %v", m.Objects.name(o), l.order, err)
			}
		}
		if p.source && !o.deleting && !st.hasSource(p.instance.ID) {
			return badSnapshot("rollout %q: order id %d is no source of it", m.Objects.name(o), l.order)
		}
	}
	if sources != len(st.Sources()) && !o.deleting {
		return badSnapshot("rollout %q has %d sources and should have %d", m.Objects.name(o), sources,
			len(st.Sources()))
	}
	if due, _ := st.NextDue(); !o.deleting {
		st.alarm = due
		m.Objects.SetAlarm(object, due)
	}
	return nil
}

func (st *stagedRollout) hasSource(id uint64) bool {
	return slices.ContainsFunc(st.Sources(), func(s rollout.Source) bool { return s.ID == id })
}

// restoreTracks makes the tracks again, except for changes that follow from instances.
func (st *stagedRollout) restoreTracks() {
	st.whole = restoredView(shard.Revision(st.WholeRevision()))
	st.whole.head = shard.Revision(st.HeadRevision())
	st.ticket = restoredView(shard.Revision(st.TicketRevision()))
	for _, l := range st.Locations() {
		st.tracks = append(st.tracks, locationTracks{
			id: l.ID, target: restoredView(shard.Revision(l.TargetRevision)),
			instances: restoredView(shard.Revision(l.Revision)),
		})
	}
}

// restoreInstance puts an instance back into its rollout and its location.
func (st *stagedRollout) restoreInstance(ro *rollouts, part arena.Handle) error {
	i := &ro.parts.At(part).instance
	if err := st.Attach(i); err != nil {
		return err
	}
	if of := st.locationOf(i.LocationID()); of != nil {
		ro.byLocation.Insert(&of.parts, part, ro)
		if at := shard.Revision(i.Revision); at > of.instances.revision {
			of.instances.revision, of.instances.base = at, at
		}
	}
	return nil
}

// state writes out the state of the store.
func (ro *rollouts) state(m *Core, object arena.Handle, s *shard.State) {
	st := ro.At(m.Objects.At(object).body)
	s.Objects = append(s.Objects, m.Objects.State(object, st.Describe(), func(l *link) string {
		p := ro.parts.At(l.body)
		return p.instance.Describe(p.source)
	}))
}
