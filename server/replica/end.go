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

// end is the local host's end of a shard's log. A replica may arrive and leave while the host runs. Without a
// replica, all calls fail with shard.ErrNotMember, and no host is reported as leader.
type end struct {
	on atomic.Pointer[running]
	// mayLead reports whether the host may currently lead the shard; nil means always.
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

// running is a running replica.
type running struct {
	shard.Log
	replica uint64
	guarded guarded // the log, nil if the log is not guarded
}

// guarded is a log that can restrict its leader to commands that free space. A log in memory is not guarded.
type guarded interface {
	// Guard returns the reason for the restriction: too many hosts have a nearly full disk, or a host with a replica
	// is short of memory. On a follower, Guard returns nil.
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

// Progress returns the other replicas' progress, or an empty list if the host does not lead.
func (e *end) Progress() []shard.Progress {
	if on := e.on.Load(); on != nil {
		if l, knows := on.Log.(interface{ Progress() []shard.Progress }); knows {
			return l.Progress()
		}
	}
	return nil
}

// allowance returns the smallest number of bytes that any host with a replica has for the shard, 0 for no limit. all
// is false if a host has not reported yet.
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

// Guard returns why the host, as the shard's leader, must reject changes that free no space, or nil.
func (r *Replica) Guard() error { return r.end.guard() }

// Guard is Replica.Guard for the nodes.
func (m *Meta) Guard() error { return m.end.guard() }

// seat is a place for a shard's replica on the host.
type seat struct {
	id  uint64
	end *end
	// machine receives the log entries. machine is emptied before another replica begins.
	machine shard.StateMachine
	empty   func() error
	// gone is called after the replica has left and its log is closed.
	gone func()
	// data is a data shard's replica, nil for the meta shard.
	data *Replica
}

// seats returns the seats of all shards.
func (s *Set) seats() []seat {
	all := []seat{s.Meta.seat()}
	for _, r := range s.withSeats() {
		all = append(all, r.seat())
	}
	return all
}

// seatOf returns a shard's seat, and false for an unknown shard.
func (s *Set) seatOf(id uint64) (_ seat, known bool) {
	if id == MetaShard {
		return s.Meta.seat(), true
	}
	if r := s.shards.Load().seat(id); r != nil {
		return r.seat(), true
	}
	return seat{}, false
}

func (m *Meta) seat() seat { return seat{MetaShard, &m.end, m, m.empty, m.gone, nil} }

func (r *Replica) seat() seat { return seat{r.ID, &r.end, r, r.empty, r.gone, r} }

// open starts the host's replica of the shard, if the host has one.
func (s *Set) open(at seat) error {
	log, err := s.config.Logs(at.id, s.metrics.CountSnapshots(at.id, at.machine, s.config.Clock))
	switch {
	case errors.Is(err, shard.ErrNotMember):
		return nil
	case err != nil:
		return fmt.Errorf("server: opening shard %d: %w", at.id, err)
	}
	replica := uint64(s.config.Self.ID) // the id of a replica that exists since the cluster's bootstrap
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
			held.Idle, held.Load = at.data.Machine.Idle, at.data.load
		}
		list = append(list, held)
	}
	return list
}

// errNoReplicas is returned by a host that keeps its initial replicas, and gets no others.
var errNoReplicas = errors.New("server: the host cannot get replicas while it runs")

// Replicas opens and deletes the logs of replicas that arrive and leave while a host runs.
type Replicas interface {
	// Join starts a replica of a shard on the local host as a learner; the replica was or will be added to the shard.
	// From then on, the function Logs starts the replica with the host, until Discard. Join refuses a discarded
	// replica permanently.
	Join(shardID, replica uint64, machine shard.StateMachine) (shard.Log, error)
	// Discard deletes a former member's data after its log was closed. A second Discard does nothing.
	Discard(ctx context.Context, shardID, replica uint64) error
	// Renew makes a replica on the local host the only one in a new group for the shard, with the state the function
	// renew returns. First, the machine before gets every entry of the host's replica in the previous group, whose
	// log is closed; it gets nothing if the host has no such replica. A second Renew does nothing.
	Renew(ctx context.Context, shardID, replica, group uint64, before shard.StateMachine,
		renew func() (shard.Saver, error)) error
	// Recorded returns the shards with a replica on the local host that came after the shard's bootstrap.
	Recorded() []uint64
	// Last returns the term and index of the last entry in the host's replica, whether known as committed or not;
	// zeros without a replica.
	Last(shardID uint64) (term, index uint64)
}

// seat returns a shard's seat. The caller holds the token in changing.
func (s *Set) seat(id hosts.ShardID) (seat, error) {
	switch {
	case s.closed:
		return seat{}, shard.ErrLogClosed
	case s.config.Gained == nil:
		return seat{}, errNoReplicas
	}
	if at, known := s.seatOf(uint64(id)); known {
		return at, nil
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
	s.log.Info("got a replica", "shard", at.id, "replica", replica)
	s.requestUpkeep()
	return nil
}

// Discard implements executor.Replicas.
func (s *Set) Discard(ctx context.Context, id hosts.ShardID, replica uint64) error {
	defer s.change()()
	at, err := s.seat(id)
	if errors.Is(err, shard.ErrNotMember) {
		at = seat{id: uint64(id), end: &end{}} // of a removed shard; a repeated order
	} else if err != nil {
		return err
	}
	if on := at.end.on.Load(); on != nil && on.replica == replica {
		if err := at.stop(); err != nil {
			return err
		}
		s.log.Info("a local replica was removed", "shard", at.id, "replica", replica)
		s.requestUpkeep()
	}
	if err := s.config.Gained.Discard(ctx, at.id, replica); err != nil {
		return fmt.Errorf("server: shard %d: %w", id, err)
	}
	return nil
}

// leftFor is how long a departed replica's state is kept: a read that has just confirmed the replica must not find it
// empty, and answer accordingly.
const leftFor = 10 * time.Second

// errLeft is returned while a replica cannot start because the previous replica's state is kept.
var errLeft = errors.New("the state of the previous replica is kept briefly")

// emptyLeft releases a departed replica's memory after leftFor. emptyLeft runs on the host's loop.
func (r *Replica) emptyLeft(now time.Time) {
	left := r.left.Load()
	if left == 0 || now.Sub(r.set.Started)-time.Duration(left) < leftFor {
		return
	}
	select {
	case r.set.changing <- struct{}{}:
		defer func() { <-r.set.changing }()
	default:
		return // a replica is arriving or leaving
	}
	r.left.Store(0)
	if err := r.empty(); err != nil {
		_ = r.set.Halt(r.broken(err))
	}
}

// snapshotOf returns the snapshot a machine saves.
func snapshotOf(m shard.Saver) (*bytes.Buffer, error) {
	snapshot, err := m.PrepareSnapshot()
	if err != nil {
		return nil, err
	}
	defer snapshot.Discard()
	saved := new(bytes.Buffer)
	return saved, snapshot.Save(saved, nil)
}

// replicaGone is the result for clients whose request, wait or watch ends because the replica left.
var replicaGone = protocol.Result{Status: protocol.StatusUnavailable,
	Message: "the local replica of the shard was removed"}
