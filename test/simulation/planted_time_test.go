package simulation_test

import (
	"sync"
	"time"

	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/server"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/test/simulation"
)

// stampingLog is a data shard log that changes batch stamps.
type stampingLog struct {
	shard.Log
	alter func(*shard.Batch)
}

func (l *stampingLog) Propose(batch []byte, done func(shard.Outcome)) error {
	var b shard.Batch
	if err := shard.DecodeBatch(batch, &b, level.Newest); err != nil {
		panic(err)
	}
	if b.Stamp.Term == 0 {
		return l.Log.Propose(batch, done)
	}
	l.alter(&b)
	return l.Log.Propose(shard.AppendBatch(nil, &b), done)
}

// withStamps plants a bug in the stamps of all data shards. plant is called for each log.
func withStamps(plant func() func(*shard.Batch)) *simulation.Bug {
	return &simulation.Bug{Config: func(c *server.Config) {
		open := c.Logs
		c.Logs = func(id uint64, sm shard.StateMachine) (shard.Log, error) {
			l, err := open(id, sm)
			if err != nil || id == 0 {
				return l, err
			}
			return &stampingLog{l, plant()}, nil
		}
	}}
}

// elapsedOfEarlierTerms: a host that leads again continues the elapsed time from its first term, although the shard
// time has advanced under the leader in between.
func elapsedOfEarlierTerms() *simulation.Bug {
	return withStamps(func() func(*shard.Batch) {
		var mu sync.Mutex
		var first time.Time
		return func(b *shard.Batch) {
			mu.Lock()
			defer mu.Unlock()
			began := time.Now().Add(-time.Duration(b.Stamp.Elapsed) * time.Millisecond)
			if first.IsZero() {
				first = began
			}
			b.Stamp.Elapsed += uint64(began.Sub(first) / time.Millisecond)
		}
	})
}

// fastStamps: leaders count two milliseconds per millisecond.
func fastStamps() *simulation.Bug {
	return withStamps(func() func(*shard.Batch) {
		return func(b *shard.Batch) { b.Stamp.Elapsed *= 2 }
	})
}

// timeOfAnotherReplica: one host treats its batches as slightly younger.
func timeOfAnotherReplica() *simulation.Bug {
	return withMachine(func(m *faultyMachine, e shard.Entry) error {
		if m.host == 2 {
			var b shard.Batch
			if err := shard.DecodeBatch(e.Data, &b, level.Newest); err != nil {
				return err
			}
			if b.Stamp.Elapsed > 0 {
				b.Stamp.Elapsed--
				e.Data = shard.AppendBatch(nil, &b)
			}
		}
		return m.StateMachine.Apply([]shard.Entry{e})
	})
}

// elections creates a world with three hosts leading in turn.
func elections(p *simulation.Plan) {
	several(p)
	p.Faults = nil
	for at := 5 * time.Second; at < p.Length; at += 7 * time.Second {
		p.Faults = append(p.Faults, simulation.Fault{
			Kind: simulation.Election, At: at, Host: shard.HostID(1 + len(p.Faults)%3), Shard: 1,
		})
	}
}
