package process

import (
	"fmt"

	kind "github.com/signalbox/signalbox/protocol/process"
	"github.com/signalbox/signalbox/shard/clock"
)

// Renewal describes how a process continues in a new cluster created from an old cluster's state: from a backup, or
// from the surviving hosts.
type Renewal struct {
	// Jump is added to the exchange counter, to pass all numbers the old cluster may have issued after the state was
	// written.
	Jump uint64
	// Revision is the revision for all parts in the new cluster, so watchers reread all parts.
	Revision uint64
	// Now is the shard time in the new cluster, and Later the difference to the shard time in the old cluster.
	Now, Later uint64
}

// Renewed returns the process's saved form for the new cluster, and changes nothing. The members are gone, and with
// them the round: the next epoch opens after members have joined. Results and audit entries stay.
func (p *Process) Renewed(n Renewal) []byte {
	next, err := Load(p.Save(nil))
	if err != nil {
		panic(fmt.Sprintf("process: what is saved is loaded: %v", err))
	}
	next.move(func(at uint64) uint64 {
		if at == 0 {
			return 0
		}
		return at + n.Later
	})
	if next.state != kind.Forming {
		next.since = clock.Moment(n.Now)
	}
	next.state, next.late, next.view, next.exchanges = kind.Forming, false, nil, nil
	next.changed, next.opens, next.due = 0, 0, 0
	next.lastExchange += n.Jump
	next.revisions = revisions{whole: n.Revision, head: n.Revision, results: n.Revision, spec: n.Revision}
	return next.Save(nil)
}

// move converts all timestamps; 0 means no timestamp and stays.
func (p *Process) move(moment func(at uint64) uint64) {
	moments := []*uint64{&p.since, &p.opened, &p.changed, &p.opens, &p.due}
	for _, e := range p.exchanges {
		moments = append(moments, &e.sent, &e.deadline)
	}
	for _, r := range p.results {
		moments = append(moments, &r.At)
	}
	for k := range p.audit {
		moments = append(moments, &p.audit[k].At)
	}
	for _, at := range moments {
		*at = moment(*at)
	}
}
