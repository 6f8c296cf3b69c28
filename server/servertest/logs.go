package servertest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/test/memlog"
)

// Logs are the logs for all hosts in a cluster, in any implementation, with their faults. A cluster uses test/memlog,
// unless On replaces the logs. The meta shard is shard 0, data shards count from 1.
type Logs interface {
	Faults

	// Boot starts the process of a host that knows the given hosts. No process may be running on the host.
	Boot(id shard.HostID, known []shard.HostID) error
	// Know updates the hosts known to a running process.
	Know(id shard.HostID, known []shard.HostID)
	// Ended ends a host's process; its logs are closed.
	Ended(id shard.HostID)

	// OpenLog opens the log for a host's shard replica, JoinLog the log for a joining replica. DiscardLog deletes a
	// removed replica's data.
	OpenLog(on shard.HostID, of uint64, machine shard.StateMachine) (shard.Log, error)
	JoinLog(on shard.HostID, of, replica uint64, machine shard.StateMachine) (shard.Log, error)
	DiscardLog(ctx context.Context, on shard.HostID, of, replica uint64) error
	// Recorded returns the shards with a replica on a host that came after the shard's bootstrap.
	Recorded(on shard.HostID) []uint64
	// RenewLog makes a host's replica the only one in a new group of its shard, and Last returns the last entry of a
	// host's replica.
	RenewLog(ctx context.Context, on shard.HostID, n Renewal) error
	Last(on shard.HostID, of uint64) (term, index uint64)
	// Remake replaces all logs by new logs for the given shards: each has one replica with an initial state.
	Remake(on shard.HostID, shards []Remade) error

	// Leader returns a shard's leader, as known by the log; 0 if there is none. Elect makes a host lead.
	Leader(of uint64) shard.HostID
	Elect(of uint64, to shard.HostID) error
	// Replicas lists a shard's replicas, Describe returns their details.
	Replicas(of uint64) []Replica
	Describe(of uint64) string

	Close() error
}

// Faults are faults on hosts and between hosts. test/memlog describes each fault.
type Faults interface {
	Isolate(id shard.HostID)
	Cut(from, to shard.HostID)
	Heal(from, to shard.HostID)
	Partition(sets ...[]shard.HostID)
	HealAll()
	Connected(a, b shard.HostID) bool
	SetPaths(to memlog.Path)

	SetDisk(id shard.HostID, sync memlog.Delay)
	StickDisk(id shard.HostID)
	FreeDisk(id shard.HostID)

	Pause(id shard.HostID)
	Resume(id shard.HostID)
	SetClockRate(id shard.HostID, rate float64)
	Kill(id shard.HostID)
	PowerFail(id shard.HostID)
}

// Replica is a shard replica.
type Replica struct {
	Host  shard.HostID
	Voter bool
	Leads bool // the replica believes that it leads, and its host runs
}

// Renewal is a shard to continue in a new group. Before receives all entries from the host's replica in the old group.
type Renewal struct {
	Shard, Replica, Group uint64
	Before                shard.StateMachine
	Renew                 func() (shard.Saver, error)
}

// Remade is a shard to rebuild together with all other shards.
type Remade struct {
	Shard, Replica uint64
	Machine        interface {
		PrepareSnapshot() (shard.Snapshot, error)
	}
}

// On replaces the bootstrap hosts' in-memory logs.
func On(logs func(initialMembers []shard.HostID) (Logs, error)) Option {
	return func(o *options) { o.logs = logs }
}

// inMemory are test/memlog's logs. It implements Logs.
type inMemory struct {
	*memlog.Network

	mu     sync.Mutex
	joined map[place]uint64 // replicas added to hosts since the bootstrap
}

// place identifies a joined replica on a host.
type place struct {
	host  shard.HostID
	shard uint64
}

// openMemory creates all shards' groups, on the bootstrap hosts only.
func openMemory(o *options, initialMembers []shard.HostID) (*inMemory, error) {
	config := memlog.Config{Seed: o.seed, Hosts: firstIDs(max(o.hosts, o.room))}
	if o.network != nil {
		o.network(&config)
	}
	network, err := memlog.NewNetwork(config)
	if err != nil {
		return nil, err
	}
	network.Start()
	m := &inMemory{Network: network, joined: make(map[place]uint64)}
	for id := range uint64(o.shards + 1) {
		if _, err := network.NewGroup(groupOf(id), initialMembers...); err != nil {
			return nil, errors.Join(err, network.Close())
		}
	}
	return m, nil
}

func groupOf(id uint64) memlog.GroupID { return memlog.GroupID(id + 1) }

// Boot implements Logs.
func (m *inMemory) Boot(id shard.HostID, _ []shard.HostID) error {
	m.Restart(id)
	return nil
}

// Know implements Logs: every host in the network reaches every other host.
func (*inMemory) Know(shard.HostID, []shard.HostID) {}

// Ended implements Logs.
func (*inMemory) Ended(shard.HostID) {}

// OpenLog implements Logs.
func (m *inMemory) OpenLog(on shard.HostID, of uint64, machine shard.StateMachine) (shard.Log, error) {
	m.mu.Lock()
	replica, joined := m.joined[place{on, of}]
	m.mu.Unlock()
	if !joined {
		return m.Open(on, groupOf(of), machine)
	}
	l, err := m.Join(on, groupOf(of), replica, machine)
	if errors.Is(err, shard.ErrMembershipRule) {
		err = fmt.Errorf("%w: %w", shard.ErrNotMember, err) // discarded
	}
	if err != nil {
		return nil, err
	}
	return l, nil
}

// JoinLog implements Logs.
func (m *inMemory) JoinLog(on shard.HostID, of, replica uint64, machine shard.StateMachine) (shard.Log, error) {
	l, err := m.Join(on, groupOf(of), replica, machine)
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.joined[place{on, of}] = replica
	return l, nil
}

// DiscardLog implements Logs.
func (m *inMemory) DiscardLog(_ context.Context, on shard.HostID, of, replica uint64) error {
	m.mu.Lock()
	if at := (place{on, of}); m.joined[at] == replica {
		delete(m.joined, at)
	}
	m.mu.Unlock()
	return m.Discard(on, groupOf(of), replica)
}

// RenewLog implements Logs.
func (m *inMemory) RenewLog(_ context.Context, on shard.HostID, n Renewal) error {
	id := groupOf(n.Shard)
	if m.Has(id, on, n.Replica) {
		return nil
	}
	if err := m.Salvage(id, on, n.Before); err != nil && !errors.Is(err, memlog.ErrUnknownHost) {
		return err
	}
	state, err := n.Renew()
	if err != nil {
		return err
	}
	saved, err := savedState(state)
	if err != nil {
		return err
	}
	if err := m.Regroup(id, on, n.Replica, n.Group, saved); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.joined[place{on, n.Shard}] = n.Replica
	return nil
}

// Recorded implements Logs.
func (m *inMemory) Recorded(on shard.HostID) (list []uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for at := range m.joined {
		if at.host == on {
			list = append(list, at.shard)
		}
	}
	slices.Sort(list)
	return list
}

// Retire permits discarding members of a shard's group, because the shard was removed.
func (m *inMemory) Retire(of uint64) { m.Network.Retire(groupOf(of)) }

// Last implements Logs.
func (m *inMemory) Last(on shard.HostID, of uint64) (term, index uint64) {
	return m.LastOn(groupOf(of), on)
}

// savedState returns a machine's state in snapshot form.
func savedState(m shard.Saver) ([]byte, error) {
	state, err := m.PrepareSnapshot()
	if err != nil {
		return nil, err
	}
	defer state.Discard()
	var saved bytes.Buffer
	err = state.Save(&saved, nil)
	return saved.Bytes(), err
}

// Leader implements Logs.
func (m *inMemory) Leader(of uint64) shard.HostID { return m.Group(groupOf(of)).Leader().Leader }

// Elect implements Logs.
func (m *inMemory) Elect(of uint64, to shard.HostID) error { return m.Group(groupOf(of)).Elect(to) }

// Replicas implements Logs.
func (m *inMemory) Replicas(of uint64) (list []Replica) {
	_, all := m.Group(groupOf(of)).Status()
	for _, r := range all {
		list = append(list, Replica{Host: r.Host, Voter: r.Voter, Leads: r.Leading && r.Running})
	}
	return list
}

// Describe implements Logs.
func (m *inMemory) Describe(of uint64) string { return m.Group(groupOf(of)).String() }

// Remake implements Logs.
func (m *inMemory) Remake(on shard.HostID, shards []Remade) error {
	for _, s := range shards {
		saved, err := savedState(s.Machine)
		if err != nil {
			return err
		}
		m.mu.Lock()
		m.joined[place{on, s.Shard}] = s.Replica
		m.mu.Unlock()
		if err := m.Network.Remake(groupOf(s.Shard), on, s.Replica, saved); err != nil {
			return err
		}
	}
	return nil
}
