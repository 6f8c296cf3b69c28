package replica

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/executor"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/hosts"
)

// end is this host's end of the log of a shard. A replica may come to the host while the host runs, and go. Without a
// replica all calls fail with shard.ErrNotMember, and no host leads.
type end struct {
	on atomic.Pointer[running]
	// mayLead reports whether the host may lead the shard now; nil for always.
	mayLead func() bool
}

// leading returns the replica for a proposal or a barrier.
func (e *end) leading() (*running, error) {
	on := e.on.Load()
	switch {
	case on == nil:
		return nil, shard.ErrNotMember
	case e.mayLead != nil && !e.mayLead():
		return nil, shard.ErrNotLeader
	}
	return on, nil
}

// running is a replica that runs.
type running struct {
	shard.Log
	replica uint64
	guarded guarded // the log, nil if the log is not guarded
}

// guarded is a log that can restrict its leader to commands that free room. A log in memory is not guarded.
type guarded interface {
	// Guard returns the reason for the restriction: the disks of too many hosts are nearly full, or the memory of a
	// host with a replica. On a follower Guard returns nil.
	Guard() error
}

func (e *end) open(log shard.Log, replica uint64) {
	g, _ := log.(guarded)
	e.on.Store(&running{log, replica, g})
}

// Propose implements shard.Log.
func (e *end) Propose(batch []byte, done func(shard.Outcome)) error {
	on, err := e.leading()
	if err != nil {
		return err
	}
	return on.Propose(batch, done)
}

// Barrier implements shard.Log.
func (e *end) Barrier(done func(error)) error {
	on, err := e.leading()
	if err != nil {
		return err
	}
	return on.Barrier(done)
}

// Leadership implements shard.Log.
func (e *end) Leadership() shard.Leadership {
	if on := e.on.Load(); on != nil {
		return on.Leadership()
	}
	return shard.Leadership{}
}

// Transfer implements shard.Log.
func (e *end) Transfer(to shard.HostID) error {
	if on := e.on.Load(); on != nil {
		return on.Transfer(to)
	}
	return shard.ErrNotMember
}

// Close implements shard.Log. The replica may be opened again.
func (e *end) Close() error {
	if on := e.on.Swap(nil); on != nil {
		return on.Log.Close()
	}
	return nil
}

// Follower implements observer.
func (e *end) Follower(id shard.HostID) (index uint64, near bool) {
	if on := e.on.Load(); on != nil {
		if o, knows := on.Log.(observer); knows {
			return o.Follower(id)
		}
	}
	return 0, false
}

// Progress is how far the other replicas are. The list is empty if this host does not lead.
func (e *end) Progress() []shard.Progress {
	if on := e.on.Load(); on != nil {
		if l, knows := on.Log.(interface{ Progress() []shard.Progress }); knows {
			return l.Progress()
		}
	}
	return nil
}

// allowance is the least number of bytes that a host with a replica has for the shard, 0 for no bound. all is false if
// a host has not reported yet.
func (e *end) allowance() (bytes uint64, all bool) {
	if on := e.on.Load(); on != nil {
		if l, knows := on.Log.(interface{ Allowance() (uint64, bool) }); knows {
			return l.Allowance()
		}
	}
	return 0, true
}

func (e *end) guard() error {
	if on := e.on.Load(); on != nil && on.guarded != nil {
		return on.guarded.Guard()
	}
	return nil
}

// Guard returns why this host, as the leader of the shard, must refuse changes that free no room, or nil if it need
// not.
func (r *Replica) Guard() error { return r.end.guard() }

// Guard is Replica.Guard for the nodes.
func (m *Meta) Guard() error { return m.end.guard() }

// seat is a place for a replica of a shard at this host.
type seat struct {
	id  uint64
	end *end
	// machine gets the entries of the log. It is emptied before another replica begins.
	machine shard.StateMachine
	empty   func() error
	// gone is called when the replica has gone, and its log is closed.
	gone func()
	// data is the replica of a data shard, nil for the meta shard.
	data *Replica
}

// seats returns the seats of all shards, each at the place of its shard's id.
func (s *Set) seats() []seat {
	all := []seat{{MetaShard, &s.Meta.end, s.Meta, s.Meta.empty, s.Meta.gone, nil}}
	for _, r := range s.Replicas {
		all = append(all, seat{r.ID, &r.end, r, r.empty, r.gone, r})
	}
	return all
}

// open starts the host's replica of the shard, if the host has a replica.
func (s *Set) open(at seat) error {
	log, err := s.config.Logs(at.id, s.metrics.CountSnapshots(at.id, at.machine, s.config.Clock))
	switch {
	case errors.Is(err, shard.ErrNotMember):
		return nil
	case err != nil:
		return fmt.Errorf("server: opening shard %d: %w", at.id, err)
	}
	replica := uint64(s.config.Self.ID) // the id of a replica since the cluster's bootstrap
	if l, knows := log.(interface{ Replica() uint64 }); knows {
		replica = l.Replica()
	}
	at.end.open(log, replica)
	return nil
}

// Held implements executor.Replicas.
func (s *Set) Held() (list []executor.Held) {
	for _, at := range s.seats() {
		on := at.end.on.Load()
		if on == nil {
			continue
		}
		log, full := on.Log.(executor.Log)
		if !full {
			continue
		}
		held := executor.Held{Shard: hosts.ShardID(at.id), Replica: on.replica, Log: log}
		if gained := s.config.Gained; gained != nil {
			held.Last = func() (term, index uint64) { return gained.Last(at.id) }
		}
		if at.data != nil {
			held.Counted = func() hosts.Count {
				return hosts.Count{Shard: hosts.ShardID(at.id), Counters: at.data.Machine.Count().Counters}
			}
		}
		list = append(list, held)
	}
	return list
}

// errNoReplicas is returned by a host that keeps the replicas of its start, and gets no others.
var errNoReplicas = errors.New("server: this host gets no replicas while it runs")

// Replicas opens and deletes the logs of replicas that come to a host while the host runs, and go.
type Replicas interface {
	// Join starts a replica of a shard on this host as a learner; the shard was added or will be. From then on the
	// replica starts with the host, by the function Logs, until Discard. Join refuses a discarded replica for ever.
	Join(shardID, replica uint64, machine shard.StateMachine) (shard.Log, error)
	// Discard deletes the data of a former member whose log is closed. A second Discard does nothing.
	Discard(ctx context.Context, shardID, replica uint64) error
	// Renew makes a replica of this host the only one of a new group of the shard, with the state that the function
	// renew makes. Before that the machine gets every entry of the host's replica of the group before, whose log is
	// closed; nothing where the host has none. A second Renew does nothing.
	Renew(ctx context.Context, shardID, replica, group uint64, before shard.StateMachine,
		renew func() (shard.Saver, error)) error
	// Last returns the term and the index of the last entry of the host's replica, known as committed or not; zeros
	// without a replica.
	Last(shardID uint64) (term, index uint64)
}

// seat returns the seat of a shard. The caller has the token of changing.
func (s *Set) seat(id hosts.ShardID) (seat, error) {
	switch {
	case s.closed:
		return seat{}, shard.ErrLogClosed
	case s.config.Gained == nil:
		return seat{}, errNoReplicas
	}
	if all := s.seats(); uint64(id) < uint64(len(all)) {
		return all[id], nil
	}
	return seat{}, fmt.Errorf("server: shard %d: %w", id, shard.ErrNotMember)
}

// Start implements executor.Replicas.
func (s *Set) Start(_ context.Context, id hosts.ShardID, replica uint64) error {
	defer s.change()()
	at, err := s.seat(id)
	if err != nil {
		return err
	}
	if on := at.end.on.Load(); on != nil {
		if on.replica != replica {
			return fmt.Errorf("server: shard %d: %w: replica %d runs here", id, shard.ErrMembershipRule, on.replica)
		}
		return nil
	}
	if err := at.empty(); err != nil {
		return fmt.Errorf("server: shard %d: %w", id, err)
	}
	log, err := s.config.Gained.Join(at.id, replica, s.metrics.CountSnapshots(at.id, at.machine, s.config.Clock))
	if err != nil {
		return fmt.Errorf("server: shard %d: %w", id, err)
	}
	at.end.open(log, replica)
	s.log.Info("this host has got a replica", "shard", at.id, "replica", replica)
	s.requestUpkeep()
	return nil
}

// Discard implements executor.Replicas.
func (s *Set) Discard(ctx context.Context, id hosts.ShardID, replica uint64) error {
	defer s.change()()
	at, err := s.seat(id)
	if err != nil {
		return err
	}
	if on := at.end.on.Load(); on != nil && on.replica == replica {
		if err := at.stop(); err != nil {
			return err
		}
		s.log.Info("a replica of this host was removed", "shard", at.id, "replica", replica)
	}
	if err := s.config.Gained.Discard(ctx, at.id, replica); err != nil {
		return fmt.Errorf("server: shard %d: %w", id, err)
	}
	return nil
}

// leftFor is how long the state of a replica that has gone is kept: a read that has made sure of its copy a moment
// before must not find the copy empty, and take that for an answer.
const leftFor = 10 * time.Second

// errLeft is returned while a replica cannot come because the state of the one before is kept.
var errLeft = errors.New("the state of the replica that was here before is kept for a moment")

// emptyLeft gives the memory of a replica back that has gone, a while after. It runs on the host's loop.
func (r *Replica) emptyLeft(now time.Time) {
	left := r.left.Load()
	if left == 0 || now.Sub(r.set.Started)-time.Duration(left) < leftFor {
		return
	}
	select {
	case r.set.changing <- struct{}{}:
		defer func() { <-r.set.changing }()
	default:
		return // a replica comes or goes
	}
	r.left.Store(0)
	if err := r.empty(); err != nil {
		_ = r.set.Halt(r.broken(err))
	}
}

// snapshotOf returns the snapshot that a machine saves.
func snapshotOf(m shard.Saver) (*bytes.Buffer, error) {
	snapshot, err := m.PrepareSnapshot()
	if err != nil {
		return nil, err
	}
	defer snapshot.Discard()
	saved := new(bytes.Buffer)
	return saved, snapshot.Save(saved, nil)
}

// replicaGone is the result for clients whose request, wait or watch ends with a replica.
var replicaGone = protocol.Result{Status: protocol.StatusUnavailable,
	Message: "this host's copy of the shard was taken away"}
