package rollout

import (
	"fmt"

	"github.com/signalbox/signalbox/shard/clock"
)

// Renewal says how a rollout goes on in a cluster that is made of the state of another one: of a backup, or of what was
// left of it.
type Renewal struct {
	// Jump is by how much counters grow, over all numbers that may have been given after that state.
	Jump uint64
	// Revision is that of all parts from now on: who watches reads all of them anew.
	Revision uint64
	// Now is the shard time there, and Later by how much that is later than it was here.
	Now, Later uint64
}

// Renewed returns what the rollout is saved as there, and changes nothing. Instances and sources are gone, and with
// them the question that was open to one. Locations keep their targets, reached or not, and versions stay.
func (r *Rollout) Renewed(n Renewal) []byte {
	next, err := Load(r.Save(nil))
	if err != nil {
		panic(fmt.Sprintf("rollout: what is saved is loaded: %v", err))
	}
	next.raise(n.Jump)
	next.move(n.Later)
	next.headRevision, next.specRevision, next.ticketRevision = n.Revision, n.Revision, n.Revision
	for _, v := range next.versions {
		v.Revision = n.Revision
	}
	for _, l := range next.locations {
		l.Revision, l.TargetRevision = n.Revision, n.Revision
	}
	next.sources, next.ticket, next.asked = nil, Ticket{}, 0
	next.due = clock.Moment(n.Now) // what goes by instances that are gone is looked at at once
	return next.Save(nil)
}

// raise lets the counters jump, but that of locations, which have names outside of their rollout.
func (r *Rollout) raise(jump uint64) {
	r.lastSeq += jump
	r.generation += jump
	r.lastTicket += jump
	r.lastAct += jump
}

// move moves all moments, of which 0 is none.
func (r *Rollout) move(later uint64) {
	moments := []*uint64{&r.paused.Since, &r.halted.Since, &r.resumed, &r.asked}
	for k := range r.audit {
		moments = append(moments, &r.audit[k].Since)
	}
	for _, v := range r.versions {
		moments = append(moments, &v.Published)
	}
	for _, l := range r.locations {
		moments = append(moments, &l.Reelected)
		for k := range l.History {
			row := &l.History[k]
			moments = append(moments, &row.Assigned, &row.Reached, &row.Abandoned)
		}
		for k := range l.Gates {
			moments = append(moments, &l.Gates[k].Since)
		}
	}
	for _, at := range moments {
		if *at != 0 {
			*at += later
		}
	}
}
