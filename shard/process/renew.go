package process

import (
	"fmt"

	kind "github.com/signalbox/signalbox/protocol/process"
	"github.com/signalbox/signalbox/shard/clock"
)

// Renewal says how a process goes on in a cluster that is made of the state of another one: of a backup, or of what was
// left of it.
type Renewal struct {
	// Jump is by how much the counter of exchanges grows, over all numbers that may have been given after that state.
	Jump uint64
	// Revision is that of all parts from now on: who watches reads all of them anew.
	Revision uint64
	// Now is the shard time there, and Later by how much that is later than it was here.
	Now, Later uint64
}

// Renewed returns what the process is saved as there, and changes nothing. Its members are gone, and with them the
// round: the next epoch opens when members have joined. Results and acts stay.
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
