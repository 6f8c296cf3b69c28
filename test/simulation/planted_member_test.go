package simulation_test

import (
	"context"
	"strings"
	"testing"

	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/server"
	"github.com/signalbox/signalbox/server/executor"
	"github.com/signalbox/signalbox/server/replica"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/hosts"
	"github.com/signalbox/signalbox/shard/meta"
	"github.com/signalbox/signalbox/test/history"
	"github.com/signalbox/signalbox/test/simulation"
)

// plantedInMembers are bugs in membership changes. Each must be detected in its seed's world.
var plantedInMembers = []struct {
	name string
	seed uint64
	make func() *simulation.Bug
	// shape, if set, turns the plan into a world in which the bug matters.
	shape func(*simulation.Plan)
}{
	{"a newcomer is up to date without a barrier", 1, func() *simulation.Bug {
		return withFullLog(func(_ uint64, l *fullLog) { l.passes = l.Replica() >= hosts.FirstReplica })
	}, nil},
	{"a learner counts as a voter", 1, learnersCount, nil},
	{"the id of a replica is used twice", 1, func() *simulation.Bug {
		return withFullLog(func(_ uint64, l *fullLog) { l.sameID = true })
	}, nil},
	{"hosts that are to be expelled have confirmed everything", 1, expelledConfirm, expelledWhileCutOff},
	{"hosts that are to be expelled end at once", 1, expelledEnd, twoAreExpelled},
}

func TestPlantedBugsInMembersAreNoticed(t *testing.T) {
	if testing.Short() {
		t.Skip("plays many worlds, which take minutes under the race detector")
	}
	for i, x := range plantedInMembers {
		if !isPlanted(i, len(plantedInMembers)) {
			continue
		}
		t.Run(strings.ReplaceAll(x.name, " ", "-"), func(t *testing.T) {
			t.Parallel() // a bubble hardly uses more than one core
			for range memberTries {
				p := simulation.DrawMembers(x.seed)
				if x.shape != nil {
					x.shape(&p)
				}
				found, _ := history.Check(run(t, p, x.make(), &totals{}))
				if len(found) > 0 {
					t.Log(found[0])
					return
				}
			}
			t.Errorf("not noticed in %d runs of seed %d", memberTries, x.seed)
		})
	}
}

// memberTries is the number of runs per seed: such worlds are longer than others.
const memberTries = 10

// fullLog is a log with a bug, also used by the governor.
type fullLog struct {
	memberLog
	passes bool                // barriers do, without asking anybody
	sameID bool                // replicas are added with the first replica's id
	alter  func(*meta.Command) // changes meta shard proposals; may be nil
}

// memberLog is everything that a host needs from a log.
type memberLog interface {
	shard.Log
	executor.Log
	Replica() uint64
	Follower(id shard.HostID) (index uint64, near bool)
}

func (l *fullLog) Barrier(done func(error)) error {
	if l.passes {
		go done(nil)
		return nil
	}
	return l.memberLog.Barrier(done)
}

func (l *fullLog) AddLearner(ctx context.Context, id uint64, host shard.HostID, i shard.Incarnation,
	change uint64) error {
	if l.sameID {
		id = hosts.FirstReplica
	}
	return l.memberLog.AddLearner(ctx, id, host, i, change)
}

// withFullLog plants a bug into the logs of all shards, including later replicas.
func withFullLog(plant func(id uint64, l *fullLog)) *simulation.Bug {
	put := func(id uint64, l shard.Log, err error) (shard.Log, error) {
		if err != nil {
			return nil, err
		}
		x := &fullLog{memberLog: l.(memberLog)}
		plant(id, x)
		return x, nil
	}
	return &simulation.Bug{Config: func(c *server.Config) {
		open := c.Logs
		c.Logs = func(id uint64, sm shard.StateMachine) (shard.Log, error) {
			l, err := open(id, sm)
			return put(id, l, err)
		}
		c.Replicas = faultyReplicas{c.Replicas, put}
	}}
}

// faultyReplicas are replicas added to a running host, with the bug.
type faultyReplicas struct {
	replica.Replicas
	put func(uint64, shard.Log, error) (shard.Log, error)
}

// Join implements replica.Replicas.
func (r faultyReplicas) Join(id, number uint64, sm shard.StateMachine) (shard.Log, error) {
	l, err := r.Replicas.Join(id, number, sm)
	return r.put(id, l, err)
}

// Propose implements shard.Log.
func (l *fullLog) Propose(batch []byte, done func(shard.Outcome)) error {
	return l.memberLog.Propose(l.altered(batch), done)
}

func (l *fullLog) altered(batch []byte) []byte {
	if l.alter == nil {
		return batch
	}
	var b meta.Batch
	if err := meta.DecodeBatch(batch, &b, level.Newest); err != nil {
		panic(err)
	}
	for i := range b.Commands {
		l.alter(&b.Commands[i])
	}
	altered, err := meta.AppendBatch(nil, &b)
	if err != nil {
		panic(err)
	}
	return altered
}

// learnersCount: the record lists every shard member as a voter.
func learnersCount() *simulation.Bug {
	return withFullLog(func(id uint64, l *fullLog) {
		if id != 0 {
			return
		}
		l.alter = func(c *meta.Command) {
			if known, is := c.Request.(*meta.ReplicasKnown); is {
				for i := range known.Members {
					known.Members[i].Role = hosts.RoleVoter
				}
			}
		}
	})
}
