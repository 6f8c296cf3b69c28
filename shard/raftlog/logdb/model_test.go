package logdb

import (
	"fmt"
	"hash/crc32"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	pb "github.com/lni/dragonboat/v4/raftpb"
)

const (
	modelShards  = 3
	modelReplica = 1
)

// model is the expected content of a store: everything passed to it, applied to maps.
type model [modelShards]modelShard

type modelShard struct {
	bootstrap bool
	snapshot  pb.Snapshot
	state     pb.State
	logged    uint64              // minimum commit position in the log
	last      uint64              // index of the last entry, or of a later snapshot
	entries   map[uint64]pb.Entry // including those overwritten by a new leader
}

func newModel() *model {
	m := new(model)
	for i := range m {
		m[i].entries = make(map[uint64]pb.Entry)
	}
	return m
}

func (m *model) clone() *model {
	c := *m
	for i := range c {
		c[i].entries = maps.Clone(m[i].entries)
	}
	return &c
}

// content is a store's data about one replica, as seen by the engine at its start.
type content struct {
	bootstrap bool
	snapshot  pb.Snapshot
	state     pb.State
	first     uint64 // of the entries
	entries   []pb.Entry
}

// String is different for different contents, but for their commit positions.
func (c content) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "bootstrap %v, snapshot %d of term %d, term %d, vote %d, from %d:", c.bootstrap,
		c.snapshot.Index, c.snapshot.Term, c.state.Term, c.state.Vote, c.first)
	for _, e := range c.entries {
		fmt.Fprintf(&b, " %d/%d/%08x", e.Index, e.Term, crc32.ChecksumIEEE(e.Cmd))
	}
	return b.String()
}

func (m *model) String() string {
	var all []string
	for i := range m {
		all = append(all, m[i].content().String())
	}
	return strings.Join(all, "\n")
}

func (s *modelShard) content() content {
	c := content{bootstrap: s.bootstrap, snapshot: s.snapshot, state: s.state}
	for index := s.snapshot.Index; index <= s.last; index++ {
		if e, ok := s.entries[index]; ok {
			if c.first == 0 {
				c.first = index
			}
			c.entries = append(c.entries, e)
		}
	}
	if len(c.entries) == 0 {
		c.first = s.snapshot.Index
	}
	return c
}

// allows reports whether a store's commit positions are the model's, or earlier ones in the log.
func (m *model) allows(commits []uint64) bool {
	for i, commit := range commits {
		if s := &m[i]; commit > max(s.state.Commit, s.snapshot.Index) || commit < max(s.logged, s.snapshot.Index) {
			return false
		}
	}
	return true
}

// step is an engine request to its store.
type step struct {
	name string
	do   func(db *DB) error
	// volatile: a crash may undo the step although it was acknowledged, because it had commit positions only, or
	// removed unneeded data.
	volatile bool
	// between are the states between a step's records: one for each of several replicas saved together.
	between []*model
}

// next draws the engine's next request, and applies it.
func (m *model) next(random *rand.Rand) step {
	shard := uint64(1 + random.IntN(modelShards))
	s := &m[shard-1]
	switch draw := random.IntN(200); {
	case !s.bootstrap:
		s.bootstrap = true
		return step{name: "bootstrap", do: func(db *DB) error {
			return db.SaveBootstrapInfo(shard, modelReplica, pb.Bootstrap{Addresses: map[uint64]string{1: "a"}})
		}}
	case draw < 12 && s.state.Commit > s.snapshot.Index:
		return s.takeSnapshot(shard)
	case draw < 24 && s.snapshot.Index > 1:
		to := s.snapshot.Index - min(s.snapshot.Index, 1+uint64(random.IntN(10)))
		return step{name: "remove entries", do: func(db *DB) error {
			if err := db.RemoveEntriesTo(shard, modelReplica, to); err != nil {
				return err
			}
			_, err := db.CompactEntriesTo(shard, modelReplica, to)
			return err
		}, volatile: true}
	case draw == 24:
		*s = modelShard{entries: make(map[uint64]pb.Entry)}
		return step{name: "remove the replica",
			do: func(db *DB) error { return db.RemoveNodeData(shard, modelReplica) }}
	case draw == 25:
		return s.importSnapshot(shard, random)
	default:
		return m.update(random)
	}
}

func (s *modelShard) takeSnapshot(shard uint64) step {
	s.snapshot = pb.Snapshot{ShardID: shard, Index: s.state.Commit, Term: s.state.Term}
	s.logged = s.state.Commit
	update := pb.Update{ShardID: shard, ReplicaID: modelReplica, Snapshot: s.snapshot}
	return step{name: "snapshot", do: func(db *DB) error { return db.SaveSnapshots([]pb.Update{update}) }}
}

func (s *modelShard) importSnapshot(shard uint64, random *rand.Rand) step {
	index := 1 + s.last/2 + uint64(random.IntN(50))
	snapshot := pb.Snapshot{ShardID: shard, Index: index, Term: s.state.Term + 1, Type: pb.ConcurrentStateMachine}
	*s = modelShard{
		bootstrap: true, snapshot: snapshot, state: pb.State{Term: snapshot.Term, Commit: index}, logged: index,
		last: index, entries: make(map[uint64]pb.Entry),
	}
	return step{name: "import", do: func(db *DB) error { return db.ImportSnapshot(snapshot, modelReplica) }}
}

// update is updates of one or more shards, saved together.
func (m *model) update(random *rand.Rand) step {
	var updates []pb.Update
	var between []*model
	volatile := true
	for _, i := range random.Perm(modelShards)[:1+random.IntN(2)] {
		s := &m[i]
		if !s.bootstrap {
			continue
		}
		before := s.state
		u := s.update(uint64(i+1), random)
		updates = append(updates, u)
		same := before.Term == u.State.Term && before.Vote == u.State.Vote
		if !same || len(u.EntriesToSave) > 0 || u.Snapshot.Index > 0 {
			s.logged = s.state.Commit
			volatile = false
		}
		between = append(between, m.clone())
	}
	return step{name: "update", do: func(db *DB) error { return db.SaveRaftState(updates, 1) }, volatile: volatile,
		between: between}
}

func (s *modelShard) update(shard uint64, random *rand.Rand) pb.Update {
	u := pb.Update{ShardID: shard, ReplicaID: modelReplica}
	if s.state.Term == 0 {
		s.state.Term = 1
	}
	switch draw := random.IntN(100); {
	case draw < 50:
		u.EntriesToSave = s.newEntries(s.last+1, random)
	case draw < 60 && s.last > s.state.Commit: // another leader has different entries
		s.state.Term, s.state.Vote = s.state.Term+1, 0
		u.EntriesToSave = s.newEntries(s.state.Commit+1+uint64(random.IntN(int(s.last-s.state.Commit))), random)
	case draw < 65:
		if s.state.Vote != 0 || random.IntN(2) == 0 { // a vote is given once in a term
			s.state.Term++
		}
		s.state.Vote = uint64(1 + random.IntN(3))
	case draw < 68: // a snapshot came from the leader
		s.last += uint64(1 + random.IntN(30))
		s.snapshot = pb.Snapshot{ShardID: shard, Index: s.last, Term: s.state.Term}
		s.state.Commit = s.last
		clear(s.entries)
		u.Snapshot = s.snapshot
		if random.IntN(2) == 0 {
			u.EntriesToSave = s.newEntries(s.last+1, random)
		}
	}
	for _, e := range u.EntriesToSave {
		s.entries[e.Index], s.last = e, e.Index
	}
	s.state.Commit += uint64(random.IntN(int(s.last - s.state.Commit + 1)))
	u.State = s.state
	return u
}

func (s *modelShard) newEntries(from uint64, random *rand.Rand) (entries []pb.Entry) {
	for i := range uint64(1 + random.IntN(4)) {
		size := []int{20, 300, 3000, 20000}[min(random.IntN(4), random.IntN(6))]
		cmd := slices.Repeat([]byte{byte(random.Uint32()), byte(random.Uint32())}, (1+random.IntN(size))/2)
		entries = append(entries, pb.Entry{Index: from + i, Term: s.state.Term, Cmd: cmd})
	}
	return entries
}
