package server_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/server"
	"github.com/signalbox/signalbox/server/servertest"
	"github.com/signalbox/signalbox/shard"
)

// mutedLog is the meta shard's log, which can be made to refuse everything.
type mutedLog struct {
	shard.Log
	muted *atomic.Bool
}

func (l mutedLog) Propose(batch []byte, done func(shard.Outcome)) error {
	if l.muted.Load() {
		return shard.ErrLogBusy
	}
	return l.Log.Propose(batch, done)
}

// watchedLog is a data shard's log with an observer of proposals.
type watchedLog struct {
	shard.Log
	look func(*shard.Command)
}

func (l watchedLog) Propose(batch []byte, done func(shard.Outcome)) error {
	var b shard.Batch
	if err := shard.DecodeBatch(batch, &b, level.Newest); err != nil {
		return fmt.Errorf("watched: %w", err)
	}
	for i := range b.Commands {
		l.look(&b.Commands[i])
	}
	return l.Log.Propose(batch, done)
}

// TestALongTimeoutIsGrantedOnceItIsOnRecord: a session with a timeout above 30 s starts, gets the timeout, and is
// attached at another leader, only after the meta shard has recorded the timeout, even if the meta shard has a
// different leader. While the meta shard refuses everything, shorter and recorded timeouts are granted, and longer ones
// are refused.
func TestALongTimeoutIsGrantedOnceItIsOnRecord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var muted atomic.Bool
		var c *servertest.Cluster
		looked := 0
		look := func(at shard.HostID, command *shard.Command) {
			if command.Kind != shard.CmdSessionCreate && command.Kind != shard.CmdSessionUpdate {
				return
			}
			looked++
			known, _ := c.Host(at).Topology()
			if on := known.Records.Longest(known.Clock.Now); on.Timeout < command.Timeout {
				t.Errorf("%v with a timeout of %d ms while %d ms are on record", command.Kind, command.Timeout,
					on.Timeout)
			}
		}
		c = servertest.Start(t, servertest.Hosts(3), servertest.Config(func(config *server.Config) {
			open := config.Logs
			config.Logs = func(group uint64, sm shard.StateMachine) (shard.Log, error) {
				l, err := open(group, sm)
				if err != nil {
					return nil, err
				}
				if group == 0 {
					return mutedLog{l, &muted}, nil
				}
				return watchedLog{l, func(command *shard.Command) { look(config.ID, command) }}, nil
			}
		}))
		operator := speak(t, c, c.Leader(0))
		operator.node("/jobs")
		elect := func(of uint64, to shard.HostID) *speaker {
			t.Helper()
			if err := c.Elect(of, to); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			time.Sleep(time.Second) // it serves
			return speak(t, c, to)
		}
		s := elect(1, c.Leader(0)%3+1)
		long := s.session("/jobs", time.Minute)

		sequence := uint64(1)
		attach := func(timeout time.Duration) *protocol.Answer {
			sequence++
			return s.ask(&protocol.SessionAttach{SessionID: long.id, SessionSecret: []byte("key"),
				AttachSequence: sequence, Change: timeout != 0, TimeoutMillis: uint64(timeout.Milliseconds())})
		}
		refused := func(what string, a *protocol.Answer) {
			t.Helper()
			r := &a.Result
			if r.Status != protocol.StatusUnavailable || !strings.Contains(r.Message, "must be recorded") {
				t.Errorf("%s is answered with %v", what, r.Err())
			}
		}
		s.must(attach(2 * time.Minute))
		muted.Store(true)
		s.session("/jobs", 20*time.Second)
		s.session("/jobs", 100*time.Second)
		refused("a session of three minutes", s.ask(&protocol.SessionStart{
			Path: []byte("/jobs"), TimeoutMillis: 180_000, SessionSecret: []byte("key"),
		}))
		refused("a change to three minutes", attach(3*time.Minute))
		s.must(attach(time.Minute))
		s.must(attach(2 * time.Minute))

		s = elect(1, c.Leader(1)%3+1)
		refused("an attach at a leader whose term has nothing on record", attach(0))
		s.must(attach(20 * time.Second))
		muted.Store(false)
		s.must(attach(3 * time.Minute))
		if looked < 7 {
			t.Errorf("only %d timeouts were looked at", looked)
		}
	})
}
