package server_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server"
	"github.com/signalbox/signalbox/server/servertest"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/clock"
)

// lagging is a log that gives a data shard one entry late: the entry is applied within the next barrier.
type lagging struct {
	shard.Log
	machine shard.StateMachine
	late    atomic.Pointer[shard.Entry]
}

func (l *lagging) Barrier(done func(error)) error {
	return l.Log.Barrier(func(err error) {
		if late := l.late.Swap(nil); late != nil {
			_ = l.machine.Apply([]shard.Entry{*late})
		}
		done(err)
	})
}

// TestASessionThatAHostIsYetToSeeIsNotOver: another host has applied the creation of a session before the leader has,
// as with a batch of a host that led before. Whatever is asked about the session, the leader calls it over only behind
// a barrier, and by what is known then.
func TestASessionThatAHostIsYetToSeeIsNotOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var log *lagging
		c := servertest.Start(t, servertest.Config(func(c *server.Config) {
			open := c.Logs
			c.Logs = func(id uint64, sm shard.StateMachine) (shard.Log, error) {
				l, err := open(id, sm)
				if id == 0 || err != nil {
					return l, err
				}
				mu.Lock()
				defer mu.Unlock()
				log = &lagging{Log: l, machine: sm}
				return log, nil
			}
		}))
		node := nodeAt(t, c, "/jobs")
		s := speak(t, c, 1)
		const slot = 7
		var n uint64
		once := func(ask func(id uint64) protocol.RequestMessage) protocol.Status {
			n++
			create := shard.AppendCommand(nil, &shard.Command{Kind: shard.CmdSessionCreate, Slot: slot,
				Node: shard.NodeID(node), Timeout: 60_000, Key: []byte("key")})
			batch := shard.AppendGathered(nil, 1, 1, clock.Stamp{Term: c.Host(1).ShardClock(1).Term}, 1, create)
			log.late.Store(&shard.Entry{Index: 1 << 40, Data: batch})
			status := s.ask(ask(uint64(shard.NewSessionID(slot, n)))).Result.Status
			if log.late.Load() != nil {
				t.Error("a request about a session that is not known is answered without a barrier")
			}
			return status
		}
		// A self-check of the leader may take the entry before the request comes: then the session is known.
		ask := func(ask func(id uint64) protocol.RequestMessage) protocol.Status {
			status := once(ask)
			for range 10 {
				if status != protocol.StatusSuccess {
					break
				}
				status = once(ask)
			}
			return status
		}
		want(t, "an attach", ask(func(id uint64) protocol.RequestMessage {
			return &protocol.SessionAttach{SessionID: id, Key: []byte("key"), AttachSequence: 1}
		}), protocol.StatusUnavailable)
		want(t, "a description", once(func(id uint64) protocol.RequestMessage {
			return &protocol.SessionDescribe{SessionID: id}
		}), protocol.StatusSuccess)
		want(t, "a bind", once(func(id uint64) protocol.RequestMessage {
			return &protocol.SessionBind{SessionID: id, Key: []byte("key")}
		}), protocol.StatusSuccess)
		want(t, "an end", ask(func(id uint64) protocol.RequestMessage {
			return &protocol.SessionDestroy{SessionID: id}
		}), protocol.StatusUnavailable)
		want(t, "a request without a bind", once(func(id uint64) protocol.RequestMessage {
			return &protocol.Acquire{Mutation: protocol.Mutation{SessionID: id, Number: 1}, NodeID: node,
				Name: []byte("a"), Count: 1}
		}), protocol.StatusBadSession)
	})
}
