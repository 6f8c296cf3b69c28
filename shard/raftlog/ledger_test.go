package raftlog

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/lni/dragonboat/v4/raftpb"
)

// ledger is what a store must have: everything that it was given, done to maps.
type ledger [ledgerShards]ledgerShard

const ledgerShards = 3

type ledgerShard struct {
	bootstrap bool
	snapshot  raftpb.Snapshot
	state     raftpb.State
	last      uint64                  // index of the last entry, or of the snapshot if that was later
	entries   map[uint64]raftpb.Entry // with those that a new leader has overwritten
}

func newLedger() *ledger {
	l := new(ledger)
	for i := range l {
		l[i].entries = make(map[uint64]raftpb.Entry)
	}
	return l
}

func (l *ledger) clone() *ledger {
	c := *l
	for i := range c {
		c[i].entries = maps.Clone(l[i].entries)
	}
	return &c
}

// String is what a store reads that has all that.
func (l *ledger) String() string {
	var all []string
	for i := range l {
		all = append(all, l[i].content().String())
	}
	return strings.Join(all, "\n")
}

func (s *ledgerShard) content() content {
	c := content{bootstrap: s.bootstrap, snapshot: s.snapshot, state: s.state}
	if s.last == s.snapshot.Index {
		return c
	}
	for index := s.snapshot.Index; index <= s.last; index++ {
		if e, ok := s.entries[index]; ok {
			if c.first == 0 {
				c.first = index
			}
			c.entries = append(c.entries, e)
		}
	}
	return c
}

// step is something that the engine asks of its store.
type step struct {
	name string
	do   func(s *testStore) error
	// mayWait: a power failure may undo the step though it was acknowledged, because it wrote positions only.
	mayWait bool
}

// next draws what the engine asks for next, and enters it.
func (l *ledger) next(random *rand.Rand) step {
	shard := uint64(1 + random.IntN(ledgerShards))
	s := &l[shard-1]
	switch draw := random.IntN(100); {
	case !s.bootstrap:
		s.bootstrap = true
		return step{name: "bootstrap", do: func(store *testStore) error {
			return store.SaveBootstrapInfo(shard, storeReplica, raftpb.Bootstrap{Addresses: map[uint64]string{1: "a"}})
		}}
	case draw < 5 && s.state.Commit > s.snapshot.Index:
		return s.takeSnapshot(shard)
	case draw < 10 && s.snapshot.Index > 0:
		return s.removeEntries(shard, random)
	case draw < 12 && s.snapshot.Index > 0:
		index := s.snapshot.Index
		return step{name: "compact", do: func(store *testStore) error {
			_, err := store.CompactEntriesTo(shard, storeReplica, index)
			return err
		}, mayWait: true} // it writes nothing to the log
	default:
		return l.update(random)
	}
}

func (s *ledgerShard) takeSnapshot(shard uint64) step {
	s.snapshot = raftpb.Snapshot{ShardID: shard, Index: s.state.Commit, Term: s.state.Term}
	update := raftpb.Update{ShardID: shard, ReplicaID: storeReplica, Snapshot: s.snapshot}
	return step{name: "snapshot",
		do: func(store *testStore) error { return store.SaveSnapshots([]raftpb.Update{update}) }}
}

func (s *ledgerShard) removeEntries(shard uint64, random *rand.Rand) step {
	to := s.snapshot.Index - min(s.snapshot.Index, uint64(random.IntN(10)))
	maps.DeleteFunc(s.entries, func(index uint64, _ raftpb.Entry) bool { return index < to })
	return step{name: "remove", do: func(store *testStore) error {
		return store.RemoveEntriesTo(shard, storeReplica,
			to)
	}}
}

// update is one or more shards' updates that are saved together.
func (l *ledger) update(random *rand.Rand) step {
	var updates []raftpb.Update
	mayWait := true
	for _, i := range random.Perm(ledgerShards)[:1+random.IntN(2)] {
		if s := &l[i]; s.bootstrap {
			before := s.state
			u := s.update(uint64(i+1), random)
			updates = append(updates, u)
			same := before.Term == u.State.Term && before.Vote == u.State.Vote
			mayWait = mayWait && same && len(u.EntriesToSave) == 0 && u.Snapshot.Index == 0
		}
	}
	return step{name: "update", do: func(store *testStore) error { return store.SaveRaftState(updates, 1) },
		mayWait: mayWait}
}

func (s *ledgerShard) update(shard uint64, random *rand.Rand) raftpb.Update {
	u := raftpb.Update{ShardID: shard, ReplicaID: storeReplica}
	if s.state.Term == 0 {
		s.state.Term = 1
	}
	switch draw := random.IntN(100); {
	case draw < 50:
		u.EntriesToSave = s.newEntries(s.last+1, random)
	case draw < 60 && s.last > s.state.Commit: // another leader has other entries
		s.state.Term, s.state.Vote = s.state.Term+1, 0
		u.EntriesToSave = s.newEntries(s.state.Commit+1+uint64(random.IntN(int(s.last-s.state.Commit))), random)
	case draw < 65:
		if s.state.Vote != 0 || random.IntN(2) == 0 { // a vote is given once in a term
			s.state.Term++
		}
		s.state.Vote = uint64(1 + random.IntN(3))
	case draw < 67: // a snapshot came from the leader
		s.last += uint64(1 + random.IntN(30))
		s.snapshot = raftpb.Snapshot{ShardID: shard, Index: s.last, Term: s.state.Term}
		s.state.Commit = s.last
		u.Snapshot = s.snapshot
	}
	for _, e := range u.EntriesToSave {
		s.entries[e.Index], s.last = e, e.Index
	}
	s.state.Commit += uint64(random.IntN(int(s.last - s.state.Commit + 1)))
	u.State = s.state
	return u
}

func (s *ledgerShard) newEntries(from uint64, random *rand.Rand) (entries []raftpb.Entry) {
	for i := range uint64(1 + random.IntN(4)) {
		size := []int{20, 300, 3000, 20000}[min(random.IntN(4), random.IntN(6))]
		cmd := slices.Repeat([]byte{byte(random.Uint32()), byte(random.Uint32())}, (1+random.IntN(size))/2)
		entries = append(entries, raftpb.Entry{Index: from + i, Term: s.state.Term, Cmd: cmd})
	}
	return entries
}
