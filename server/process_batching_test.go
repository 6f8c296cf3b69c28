package server_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox/signalbox/protocol"
	kind "github.com/signalbox/signalbox/protocol/process"
	"github.com/signalbox/signalbox/server"
	"github.com/signalbox/signalbox/server/servertest"
)

// gathering makes commands wait for others as long as in production.
var gathering = servertest.Config(func(c *server.Config) { c.AcquireDelay = server.DefaultAcquireDelay })

// TestMembersThatActTogetherShareABatch: all commands except the last member's wait for it, and it is proposed at once.
func TestMembersThatActTogetherShareABatch(t *testing.T) {
	playProcesses(t, func(t *testing.T, b *processBed) {
		b.put(kind.Spec{MinMembers: 3, OpenDelay: 100 * time.Millisecond})
		all := []*attendant{b.join("a"), b.join("b"), b.join("c")}
		for _, a := range all {
			a.epoch = a.next(kind.ItemPrepare).Epoch
		}
		together := func(what string, answer protocol.Kind, request func(a *attendant) protocol.RequestMessage) {
			t.Helper()
			synctest.Wait()
			before, began := batches(b.s), time.Now()
			var asked []uint64
			for _, a := range all {
				asked = append(asked, a.s.say(request(a)))
				synctest.Wait()
			}
			for i, a := range all {
				a.s.must(a.s.await(asked[i], answer))
			}
			if took := time.Since(began); took >= server.DefaultAcquireDelay {
				t.Errorf("%s: it takes %v", what, took)
			}
			want(t, what, batches(b.s)-before, 1)
		}
		together("prepared", protocol.KindProcessPrepareAck.Answer(), func(a *attendant) protocol.RequestMessage {
			return &protocol.ProcessPrepareAck{Mutation: a.mutation(), NodeID: b.node, Name: cache, Part: a.part()}
		})
		all[0].next(kind.ItemCoordinate)
		all[0].complete("done")
		together("left", protocol.KindProcessLeave.Answer(), func(a *attendant) protocol.RequestMessage {
			return &protocol.ProcessLeave{Mutation: a.mutation(), NodeID: b.node, Name: cache, MemberID: a.member}
		})
	}, gathering)
}

// TestAMemberThatActsAloneWaitsForAMoment: the command is proposed alone if no other arrives.
func TestAMemberThatActsAloneWaitsForAMoment(t *testing.T) {
	playProcesses(t, func(t *testing.T, b *processBed) {
		b.put(kind.Spec{MinMembers: 2, OpenDelay: 100 * time.Millisecond})
		var began time.Time
		b.join("a", func(*protocol.ProcessJoin) {
			synctest.Wait() // commands following the session start would share the join's batch
			began = time.Now()
		})
		if took := time.Since(began); took < server.DefaultAcquireDelay || took > 2*server.DefaultAcquireDelay {
			t.Errorf("the first of two joins in %v", took)
		}
	}, gathering)
}
