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
	if next.state != kind.Forming {
		next.since = clock.Moment(n.Now)
	} else {
		next.since += n.Later
	}
	next.state, next.late, next.view, next.exchanges = kind.Forming, false, nil, nil
	next.changed, next.opens, next.due = 0, 0, 0
	next.lastExchange += n.Jump
	next.revisions = revisions{whole: n.Revision, head: n.Revision, results: n.Revision, spec: n.Revision}
	if next.opened != 0 {
		next.opened += n.Later
	}
	for _, r := range next.results {
		r.At += n.Later
	}
	for k := range next.audit {
		next.audit[k].At += n.Later
	}
	return next.Save(nil)
}
