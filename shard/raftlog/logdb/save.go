package logdb

import (
	"fmt"

	pb "github.com/lni/dragonboat/v4/raftpb"
	"github.com/signalbox/signalbox/shard/raftlog/wal"
)

// recordBytes is about the length of a record with several entries. A reader of one entry reads the whole record.
const recordBytes = 256 << 10

// save saves the content of an engine's update for a replica, and reports whether the content must be durable before
// the call returns: a term, a vote, entries or a snapshot. A commit position alone is not even written. It goes into
// the log with the next change, because Raft can lose a commit position.
func (r *replica) save(u *pb.Update) (at wal.Place, durable bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := checkUpdate(u); err != nil {
		return at, false, err
	}
	if !pb.IsEmptyState(u.State) {
		r.state = u.State
	}
	c := change{state: r.state}
	if u.Snapshot.Index > r.snapshot.Index {
		c.snapshot, c.installed = pb.MustMarshal(&u.Snapshot), true
	}
	durable = r.state.Term != r.logged.Term || r.state.Vote != r.logged.Vote || c.snapshot != nil
	rest := u.EntriesToSave
	for durable || len(rest) > 0 {
		n := recordEntries(rest)
		c.entries, rest = rest[:n], rest[n:]
		if at, err = r.append(c); err != nil {
			return at, false, err
		}
		if c, durable = (change{}), false; len(rest) == 0 {
			return at, true, nil
		}
	}
	return at, false, nil
}

// checkUpdate refuses an update that the engine never makes: a snapshot after the entries of the update.
func checkUpdate(u *pb.Update) error {
	if n := len(u.EntriesToSave); n > 0 && u.Snapshot.Index > u.EntriesToSave[n-1].Index {
		return fmt.Errorf("logdb: shard %d has a snapshot of %d, and entries up to %d are saved with it", u.ShardID,
			u.Snapshot.Index, u.EntriesToSave[n-1].Index)
	}
	return nil
}

// recordEntries returns how many of the entries go into the next record.
func recordEntries(entries []pb.Entry) int {
	size := 0
	for i := range entries {
		if i > 0 && (size >= recordBytes || entries[i].Index != entries[i-1].Index+1) {
			return i
		}
		size += len(entries[i].Cmd)
	}
	return len(entries)
}

// saveSnapshot saves a snapshot of this replica's own state, together with the latest state of Raft: the log never has
// one without the other.
func (r *replica) saveSnapshot(snapshot *pb.Snapshot) (at wal.Place, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if snapshot.Index <= r.snapshot.Index {
		return at, nil
	}
	return r.append(change{state: r.state, snapshot: pb.MustMarshal(snapshot)})
}

// saveBootstrap saves the beginning of the replica.
func (r *replica) saveBootstrap(bootstrap *pb.Bootstrap) (wal.Place, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.append(change{bootstrap: pb.MustMarshal(bootstrap)})
}

// replace replaces everything of the replica by an imported snapshot.
func (r *replica) replace(snapshot *pb.Snapshot) (wal.Place, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.append(change{
		cleared:   true,
		bootstrap: pb.MustMarshal(&pb.Bootstrap{Join: true, Type: snapshot.Type}),
		state:     pb.State{Term: snapshot.Term, Commit: snapshot.Index},
		snapshot:  pb.MustMarshal(snapshot), installed: true,
	})
}

// remove removes everything of the replica.
func (r *replica) remove() (wal.Place, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.append(change{cleared: true})
}

// savePosition writes a commit position that the log does not have yet.
func (r *replica) savePosition() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if pb.IsStateEqual(r.state, r.logged) {
		return nil
	}
	_, err := r.append(change{state: r.state})
	return err
}
