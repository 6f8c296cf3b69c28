package simulation_test

import (
	"sync"
	"testing"

	"github.com/valyala/bytebufferpool"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/server"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/meta"
	"github.com/signalbox/signalbox/test/history"
	"github.com/signalbox/signalbox/test/simulation"
)

// losingNodeAnswers answers every first attempt to change a node with UNAVAILABLE, like hosts that lose leadership
// before a change is applied. By itself it is no bug.
func losingNodeAnswers() *simulation.Bug {
	return withInterceptor(func() *interceptor {
		encoder, lost := protocol.NewEncoder(), 0
		return &interceptor{answer: func(a *protocol.Answer, frame []byte) []byte {
			switch a.Kind {
			case protocol.KindNodeCreate.Answer(), protocol.KindNodeAlter.Answer(), protocol.KindNodeDrop.Answer():
				if lost++; lost%2 == 1 {
					return encodeFailure(encoder, a.ID, a.Kind-protocol.AnswerOffset)
				}
			}
			return frame
		}}
	})
}

func encodeFailure(e *protocol.Encoder, id uint64, k protocol.Kind) []byte {
	var buf bytebufferpool.ByteBuffer
	e.Failure(&buf, id, k, &protocol.Result{Status: protocol.StatusUnavailable})
	return buf.B
}

// noNodeDedupe: a repeated node change is executed again.
func noNodeDedupe() *simulation.Bug {
	bug := losingNodeAnswers()
	var mu sync.Mutex
	seen := make(map[meta.Numbered]bool)
	bug.Config = func(c *server.Config) {
		open := c.Logs
		c.Logs = func(id uint64, sm shard.StateMachine) (shard.Log, error) {
			l, err := open(id, sm)
			if err != nil || id != 0 {
				return l, err
			}
			return &faultyMetaLog{Log: l, alter: func(c *meta.Command) {
				mu.Lock()
				defer mu.Unlock()
				if n := c.Numbered; n != (meta.Numbered{}) && seen[n] {
					c.Numbered = meta.Numbered{}
				} else {
					seen[n] = true
				}
			}}, nil
		}
	}
	return bug
}

// faultyMetaLog is the meta shard's log with a bug in proposals.
type faultyMetaLog struct {
	shard.Log
	alter func(*meta.Command)
}

func (f *faultyMetaLog) Propose(batch []byte, done func(shard.Outcome)) error {
	var b meta.Batch
	if err := meta.DecodeBatch(batch, &b, level.Newest); err != nil {
		panic(err)
	}
	for i := range b.Commands {
		f.alter(&b.Commands[i])
	}
	altered, err := meta.AppendBatch(nil, &b)
	if err != nil {
		panic(err)
	}
	return f.Log.Propose(altered, done)
}

// TestLostAnswersOfNodesAreNoMistake: without the planted bug, each node change is sent twice and executed once.
func TestLostAnswersOfNodesAreNoMistake(t *testing.T) {
	for _, seed := range []uint64{1, 4} {
		if found, _ := history.Check(play(t, seed, losingNodeAnswers(), nil)); len(found) > 0 {
			t.Errorf("seed %d: %v", seed, found)
		}
	}
}
