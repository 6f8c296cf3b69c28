package replica

import (
	"fmt"
	"testing"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/shard/meta"
)

// TestWhoIsAnsweredFindsThatTheHostGoesByTheChange: a session may be attached right after the answer, and its lease
// uses the node's new grace period.
func TestWhoIsAnsweredFindsThatTheHostGoesByTheChange(t *testing.T) {
	h := standaloneAt(t, 1, level.Newest)
	until(t, "the shard has a leader", h, func() {}, h.Meta.leads)
	type seen struct {
		known             int
		version, answered uint64
	}
	answers := make(chan seen, 1)
	before := len(h.timing.known())
	h.Meta.Propose(meta.Command{Kind: meta.CmdNodeCreate, Path: "/jobs"}, func(e *meta.Effect, failed protocol.Status) {
		s := seen{known: len(h.timing.known()), version: h.Meta.appliedVersion.Load()}
		if e != nil {
			s.answered = e.Version
		}
		answers <- s
	})
	s := <-answers
	if s.answered == 0 || s.known != before+1 || s.version < s.answered {
		t.Errorf("answered at version %d, and the host goes by version %d with %d nodes", s.answered, s.version,
			s.known)
	}
}

// TestWhatClientsAskOfTheMetaShardLeavesRoomForHosts: clients that exceed the meta shard's throughput are temporarily
// refused, while host reports are accepted.
func TestWhatClientsAskOfTheMetaShardLeavesRoomForHosts(t *testing.T) {
	h := notBootstrapped(t) // hosts without records register
	_, cluster := counting(h)
	cluster.hold()
	const asked = 3 * maxRequests
	answers := make(chan protocol.Status, asked)
	for i := range asked {
		h.Meta.Propose(meta.Command{Kind: meta.CmdNodeCreate, Path: fmt.Sprintf("/node/%d", i)},
			func(e *meta.Effect, failed protocol.Status) {
				if e != nil {
					failed = e.Status
				}
				answers <- failed
			})
	}
	if n := len(answers); n != asked-maxRequests {
		t.Fatalf("%d of %d were refused; want all but %d", n, asked, maxRequests)
	}
	h.config.Self.Version = "another-build"
	h.Meta.upkeep()
	if taken, _ := cluster.taken(); taken["host-register"] != 1 || taken["node-create"] != maxRequests {
		t.Fatalf("under way are %v", taken)
	}
	cluster.release(t)
	until(t, "everything is answered", h, func() {}, func() bool { return len(answers) == asked })
	counts := make(map[protocol.Status]int)
	for range asked {
		counts[<-answers]++
	}
	if counts[protocol.StatusOverloaded] != asked-maxRequests || counts[protocol.StatusSuccess] != maxRequests {
		t.Errorf("the answers are %v", counts)
	}
	until(t, "the record of the host is what it is", h, func() {}, func() bool {
		me, _ := h.Meta.Machine.Host(h.config.Self.ID)
		return me.Version == h.config.Self.Version
	})
	h.Meta.Propose(meta.Command{Kind: meta.CmdNodeCreate, Path: "/later"},
		func(*meta.Effect, protocol.Status) { close(answers) })
	if _, open := <-answers; open {
		t.Error("there is no room when all were answered")
	}
}
