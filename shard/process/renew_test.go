package process

import (
	"testing"

	"github.com/signalbox/signalbox/protocol"
	kind "github.com/signalbox/signalbox/protocol/process"
)

// TestANewClusterHasNoMembers: at every step of a random process, its migrated form is valid, has no members and no
// round, and keeps results and actions; the next epoch opens when members have joined.
func TestANewClusterHasNoMembers(t *testing.T) {
	c := newCrowd(t, 3)
	if a := c.broadcast([]byte("ask")); a.Status != protocol.StatusSuccess {
		t.Fatal(a)
	}
	c.checkRenewed("with an open exchange")
	c.reply(c.list[1], c.lastExchange, []byte("answer"))
	c.checkRenewed("with a reply")
	c.Leave(c.at(), c.list[2])
	c.checkRenewed("before the next epoch")
	c.list = c.list[:2]
	c.turn()
	if a := c.Complete(c.at(), c.list[0], c.Epoch(), []byte("done")); a.Status != protocol.StatusSuccess {
		t.Fatal(a)
	}
	c.checkRenewed("with a complete round")
}

func (c *crowd) checkRenewed(when string) {
	c.tb.Helper()
	before := c.Describe()
	next, err := Load(c.Renewed(Renewal{Jump: 1 << 40, Revision: 1 << 41, Now: c.now + 500, Later: 500}))
	if err != nil {
		c.tb.Fatalf("%s: %v", when, err)
	}
	if err := next.Attached(); err != nil || c.Describe() != before {
		c.tb.Fatalf("%s: %v; the old one is %s", when, err, c.Describe())
	}
	if _, due := next.NextDue(); due || next.Phase() != kind.Forming || len(next.Members()) > 0 ||
		next.Epoch() != c.Epoch() || len(next.Results()) != len(c.Results()) || len(next.Audit()) != len(c.Audit()) ||
		next.WholeRevision() != 1<<41 || next.lastExchange != c.lastExchange+1<<40 {
		c.tb.Fatalf("%s: %s", when, next.Describe())
	}
	other := &crowd{Process: next, tb: c.tb, now: c.now + 500, order: c.order + 1<<40}
	m := &Member{ID: other.NextOrder()}
	next.Join(other.at(), m, kind.Joining{Name: "a", Candidate: true})
	other.list = []*Member{m}
	other.turn()
	if next.Phase() != kind.Running || next.Epoch() <= 1<<40 {
		c.tb.Fatalf("%s: the next epoch is %d, %v", when, next.Epoch(), next.Phase())
	}
}
