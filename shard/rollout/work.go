package rollout

import (
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/internal/arena"
	"github.com/signalbox/signalbox/shard/machine"
)

// work is one command on one rollout, from the beginning to the report of all changes. At most one is in progress.
type work struct {
	*rollouts
	co      *machine.Core
	object  arena.Handle
	session arena.Handle // zero for a command without a session
	staged  *stagedRollout
	at      At

	// For commands about a session's part: the session's holding, and the part's size before the command.
	link    arena.Handle
	part    *sessionPart
	charged int
	fresh   int // bytes in a new holding, besides texts

	exceeded shard.Quota // by the command
	body     string      // answer body
	out      Effects
}

// run applies a command on an existing rollout.
func (ro *rollouts) run(co *machine.Core, c *shard.Command, t *machine.Target,
	does func(*work, *shard.Command) Answer) machine.Outcome {
	if t.Object == 0 {
		return machine.Refuse(protocol.StatusNotFound, "there is no rollout of this name")
	}
	w := ro.begin(co, t.Object, t.Session)
	a := does(w, c)
	ro.counts.countVersion(c.Kind, &a)
	return w.conclude(a)
}

// begin prepares a command on a rollout, and preserves the rollout's record first. Every begin must be ended by
// finish.
func (ro *rollouts) begin(co *machine.Core, object, session arena.Handle) *work {
	co.Snapshots.TouchObject(object)
	w := &ro.work
	w.out.Reset()
	*w = work{
		rollouts: ro, co: co, object: object, session: session, staged: ro.At(co.Objects.At(object).State), out: w.out,
	}
	w.at = ro.now(co)
	w.at.Room = w
	return w
}

// now is the time and the revision for the command in progress.
func (ro *rollouts) now(co *machine.Core) At {
	return At{Now: co.Clock.Now, Wall: co.Run.Wall, Revision: uint64(co.NextRevision()), Out: &ro.work.out}
}

// MayGrow reports whether the quotas allow more bytes.
func (w *work) MayGrow(bytes int) bool {
	w.exceeded = w.co.Nodes.Exceeded(w.co.Objects.Node(w.co.Objects.At(w.object)), 0, bytes+w.fresh)
	return w.exceeded == shard.QuotaNone
}

// conclude finishes the command, and returns the outcome for the rules' answer.
func (w *work) conclude(a Answer) machine.Outcome {
	w.co.Run.PlaceResult()
	w.finish(0)
	switch a.Status {
	case protocol.StatusQuotaExceeded:
		return machine.OverQuota(w.exceeded)
	case protocol.StatusSuccess:
		return machine.Outcome{Order: shard.OrderID(a.Number), Body: w.body}
	}
	return machine.Refuse(a.Status, a.Text)
}

// finish reports what the command has changed: to the quotas, the alarm, and the view readers.
func (w *work) finish(flags shard.EffectFlags) {
	co, st := w.co, w.staged
	o := co.Objects.At(w.object)
	co.Nodes.Charge(co.Objects.Node(o), st.Size()-st.charged)
	st.charged = st.Size()
	if w.part != nil {
		co.Nodes.Charge(co.Objects.Node(o), w.part.instance.Size()-w.charged)
	}
	if due, _ := st.NextDue(); due != st.alarm {
		co.Objects.SetAlarm(w.object, due)
		st.alarm = due
	}
	if w.reportViews() || flags != 0 {
		co.Objects.Changed(w.object, flags|shard.FlagData|shard.FlagOwners)
	}
	w.counts.countEvents(w.out.Events)
	w.part, w.at.Out = nil, nil
}

// reportViews notes all changed heads and view rows, and reports whether there are any.
func (w *work) reportViews() (any bool) {
	co, st := w.co, w.staged
	st.followLocations(co)
	if st.HeadRevision() == w.at.Revision {
		co.History.HeadChanged(&st.whole)
		any = true
	}
	if st.TicketRevision() == w.at.Revision {
		co.History.HeadChanged(&st.ticket)
		any = true
	}
	for _, l := range st.Locations() {
		if l.Revision == w.at.Revision {
			co.History.HeadChanged(&st.locationOf(l.ID).instances)
		}
		if l.TargetRevision == w.at.Revision {
			co.History.HeadChanged(&st.locationOf(l.ID).target)
		}
	}
	for _, row := range w.out.Rows {
		if row.Location == 0 {
			co.History.RowChanged(&st.whole, row.ID)
			any = true
		} else if of := st.locationOf(row.Location); of != nil {
			co.History.RowChanged(&of.instances, row.ID)
			any = true
		}
	}
	return any
}

// followLocations rebuilds the tracks after the location list changed.
func (st *stagedRollout) followLocations(co *machine.Core) {
	locations := st.Locations()
	same := len(st.tracks) == len(locations)
	for k := 0; same && k < len(locations); k++ {
		same = st.tracks[k].id == locations[k].ID
	}
	if same {
		return
	}
	tracks := make([]locationTracks, len(locations))
	for k, l := range locations {
		if old := st.locationOf(l.ID); old != nil {
			tracks[k] = *old
			continue
		}
		tracks[k] = locationTracks{id: l.ID, target: co.History.NewView(), instances: co.History.NewView()}
	}
	st.tracks = tracks
}
