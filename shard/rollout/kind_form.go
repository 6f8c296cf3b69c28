package rollout

import (
	"slices"

	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/internal/arena"
	"github.com/signalbox/signalbox/shard/machine"
)

// This file encodes a rollout for snapshots and for plain State.

func (ro *rollouts) Save(dst []byte, body arena.Handle) []byte { return ro.At(body).Save(dst) }

func (ro *rollouts) Load(src []byte) (arena.Handle, bool) {
	r, err := Load(src)
	if err != nil {
		return 0, false
	}
	h := ro.Alloc()
	*ro.At(h) = stagedRollout{Rollout: r, charged: r.Size()}
	return h, true
}

func (ro *rollouts) Shift(body arena.Handle, moment func(uint64) uint64) { ro.At(body).move(moment) }

func (ro *rollouts) ShiftHolding(body arena.Handle, moment func(uint64) uint64) {
	i := &ro.parts.At(body).instance
	i.Since, i.Received = moment(i.Since), moment(i.Received)
}

func (ro *rollouts) Renew(body arena.Handle, n *machine.StateRenewal) ([]byte, bool) {
	return ro.At(body).Renewed(Renewal{
		Jump: n.Jump, Revision: uint64(n.Revision), Now: n.Now, Later: n.Later,
	}), true
}

// A session's parts in a rollout: the first byte of the holding's body.
const (
	savedInstance byte = 1 << iota
	savedSource
)

func (ro *rollouts) SaveHolding(dst []byte, body arena.Handle) []byte {
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

func (ro *rollouts) LoadHolding(src []byte) (arena.Handle, bool) {
	if len(src) == 0 || src[0] == 0 || src[0] > savedInstance|savedSource {
		return 0, false
	}
	var i Instance
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

// Linked puts the instances back into the rollout, and rebuilds the tracks and the alarm.
func (ro *rollouts) Linked(co *machine.Core, object arena.Handle) error {
	o := co.Objects.At(object)
	st := ro.At(o.State)
	st.object = object
	if o.Pending && !o.Deleting {
		return machine.BadSnapshot("rollout %q is pending", co.Objects.Name(o))
	}
	if st.WholeRevision() > uint64(o.Revision) {
		return machine.BadSnapshot("rollout %q is of revision %d, and has changed at %d", co.Objects.Name(o),
			o.Revision, st.WholeRevision())
	}
	st.restoreTracks()
	sources := 0
	for h := co.Holdings.First(o); h != 0; h = co.Holdings.Next(h) {
		l := co.Holdings.At(h)
		if l.State == 0 || !l.Owner {
			return machine.BadSnapshot("rollout %q: order id %d is no part of it", co.Objects.Name(o), l.Order)
		}
		p := ro.parts.At(l.State)
		p.instance.ID = uint64(l.Order)
		if p.source {
			sources++
		}
		if p.joined() {
			if err := st.restoreInstance(ro, l.State); err != nil {
				return machine.BadSnapshot("rollout %q: order id %d: %v", co.Objects.Name(o), l.Order, err)
			}
		}
		if p.source && !o.Deleting && !st.hasSource(p.instance.ID) {
			return machine.BadSnapshot("rollout %q: order id %d is no source of it", co.Objects.Name(o), l.Order)
		}
	}
	if sources != len(st.Sources()) && !o.Deleting {
		return machine.BadSnapshot("rollout %q has %d sources and should have %d", co.Objects.Name(o), sources,
			len(st.Sources()))
	}
	if due, _ := st.NextDue(); !o.Deleting {
		st.alarm = due
		co.Objects.SetAlarm(object, due)
	}
	return nil
}

func (st *stagedRollout) hasSource(id uint64) bool {
	return slices.ContainsFunc(st.Sources(), func(s Source) bool { return s.ID == id })
}

// restoreTracks rebuilds the tracks, except for changes caused by instances.
func (st *stagedRollout) restoreTracks() {
	st.whole = machine.RestoredView(shard.Revision(st.WholeRevision()))
	st.whole.Head = shard.Revision(st.HeadRevision())
	st.ticket = machine.RestoredView(shard.Revision(st.TicketRevision()))
	for _, l := range st.Locations() {
		st.tracks = append(st.tracks, locationTracks{
			id: l.ID, target: machine.RestoredView(shard.Revision(l.TargetRevision)),
			instances: machine.RestoredView(shard.Revision(l.Revision)),
		})
	}
}

// restoreInstance puts an instance back into the rollout and the location.
func (st *stagedRollout) restoreInstance(ro *rollouts, part arena.Handle) error {
	i := &ro.parts.At(part).instance
	if err := st.Attach(i); err != nil {
		return err
	}
	if of := st.locationOf(i.locationID()); of != nil {
		ro.byLocation.Insert(&of.parts, part, ro)
		if at := shard.Revision(i.Revision); at > of.instances.Revision {
			of.instances.RestoreAt(at)
		}
	}
	return nil
}

// AppendState appends the rollout with all session parts in plain form.
func (ro *rollouts) AppendState(co *machine.Core, object arena.Handle, s *shard.State) {
	st := ro.At(co.Objects.At(object).State)
	s.Objects = append(s.Objects, co.Objects.State(object, st.Describe(), func(l *machine.Holding) string {
		p := ro.parts.At(l.State)
		return p.instance.Describe(p.source)
	}))
}
