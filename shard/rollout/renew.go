package rollout

import (
	"fmt"

	"github.com/signalbox/signalbox/shard/clock"
)

// Renewal describes how a rollout continues in a new cluster created from an old cluster's state: from a backup, or
// from the surviving hosts.
type Renewal struct {
	// Jump is added to counters, to pass all numbers the old cluster may have issued after the state was written.
	Jump uint64
	// Revision is the revision for all parts in the new cluster, so watchers reread all parts.
	Revision uint64
	// Now is the shard time in the new cluster, and Later the difference to the shard time in the old cluster.
	Now, Later uint64
}

// Renewed returns the rollout's saved form for the new cluster, and changes nothing. Instances and sources are gone,
// and with the sources an open ticket. Locations keep their targets, reached or not, and versions stay.
func (r *Rollout) Renewed(n Renewal) []byte {
	next, err := Load(r.Save(nil))
	if err != nil {
		panic(fmt.Sprintf("rollout: what is saved is loaded: %v", err))
	}
	next.raise(n.Jump)
	next.move(func(at uint64) uint64 {
		if at == 0 {
			return 0
		}
		return at + n.Later
	})
	next.headRevision, next.specRevision, next.ticketRevision = n.Revision, n.Revision, n.Revision
	for _, v := range next.versions {
		v.Revision = n.Revision
	}
	for _, l := range next.locations {
		l.Revision, l.TargetRevision = n.Revision, n.Revision
	}
	next.sources, next.ticket, next.asked = nil, Ticket{}, 0
	next.due = clock.Moment(n.Now) // decisions that depended on lost instances are due at once
	return next.Save(nil)
}

// raise lets the counters jump, except the location counter: outside the rollout a location is known by its name.
func (r *Rollout) raise(jump uint64) {
	r.lastSeq += jump
	r.generation += jump
	r.lastTicket += jump
	r.lastAct += jump
}

// move converts all timestamps; 0 means no timestamp and stays.
func (r *Rollout) move(moment func(at uint64) uint64) {
	moments := []*uint64{&r.paused.Since, &r.halted.Since, &r.resumed, &r.asked, &r.due, &r.ticket.Opened}
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
		*at = moment(*at)
	}
}
