package server

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/meta"
)

const (
	metaShard = 0
	nodeAlive = meta.NodeIsAlive
	nodeDead  = meta.NodeIsDead
	nodeLater = meta.NodeLater
)

// metaReplica is this host's copy of the meta shard.
type metaReplica struct {
	host    *Host
	machine *meta.Machine
	log     shard.Log

	leadership atomic.Pointer[shard.Leadership]
	applied    atomic.Uint64 // the index of the last entry
	// caughtUp: since this host started, a barrier has shown its copy to be up to date once. Before that
	// it must not lead a shard, answer for a session or end one: it may not know of a longer grace.
	caughtUp atomic.Bool
	digests  digests
	// told is the version of the machine that the host's timing has taken in.
	told atomic.Uint64

	// Used where batches are applied.
	batch     meta.Batch
	effects   meta.Effects
	unsettled bool // what a change of timing waits for may be there

	mu       sync.Mutex // guards what follows
	sequence uint64
	flights  map[uint64]metaDone
}

// metaDone gets the result of a command, or nil and what kept it from being known. It runs where
// batches are applied and must not block.
type metaDone func(e *meta.Effect, failed protocol.Status)

func (h *Host) newMetaReplica() *metaReplica {
	m := &metaReplica{host: h, machine: meta.New(), flights: make(map[uint64]metaDone)}
	m.leadership.Store(&shard.Leadership{})
	m.initDigests()
	return m
}

func (m *metaReplica) open() error {
	log, err := m.host.config.Logs(metaShard, m.host.metrics.countSnapshots(metaShard, m))
	if err != nil {
		return fmt.Errorf("server: opening the meta shard: %w", err)
	}
	m.log = log
	return nil
}

func (m *metaReplica) leads() bool { return m.leadership.Load().Leader == m.host.config.ID }

// propose hands one command to the log. There are few, so each is a batch of its own.
func (m *metaReplica) propose(c meta.Command, done metaDone) {
	if meta.LevelOf(&c) > m.machine.Level() {
		done(nil, protocol.StatusUnsupported)
		return
	}
	m.mu.Lock()
	m.sequence++
	sequence := m.sequence
	m.flights[sequence] = done
	m.mu.Unlock()
	data, err := m.encode(sequence, c)
	if err != nil {
		m.host.log.Error("a command of the meta shard does not fit into its log", "err", err)
		m.land(sequence, nil)
		return
	}
	err = m.log.Propose(data, func(o shard.Outcome) {
		if o != shard.OutcomeApplied {
			m.land(sequence, nil)
		}
	})
	if err != nil {
		m.land(sequence, nil)
	}
}

func (m *metaReplica) encode(sequence uint64, commands ...meta.Command) ([]byte, error) {
	for i := range commands {
		commands[i].Level = m.machine.Level()
	}
	return meta.AppendBatch(nil, &meta.Batch{
		Proposer: m.host.proposer, Sequence: sequence, Commands: commands,
	})
}

// say gives the meta shard a command that may be lost: who gives it looks whether it took effect. A host
// that does not lead the shard says it through the one that does.
func (m *metaReplica) say(c meta.Command) {
	if m.leads() {
		m.propose(c, func(e *meta.Effect, _ protocol.Status) {
			if e != nil && e.Status != protocol.StatusSuccess {
				m.host.log.Error("the meta shard refuses what this host says", "command", c.Kind, "status", e.Status, "why", e.Message)
			}
		})
		return
	}
	m.forward(c)
}

// land gives a command its outcome, the first time.
func (m *metaReplica) land(sequence uint64, e *meta.Effect) {
	m.mu.Lock()
	done := m.flights[sequence]
	delete(m.flights, sequence)
	m.mu.Unlock()
	switch {
	case done == nil:
	case e == nil:
		done(nil, protocol.StatusUnavailable)
	default:
		done(e, 0)
	}
}

// Apply implements shard.StateMachine.
func (m *metaReplica) Apply(entries []shard.Entry) error {
	for i := range entries {
		if err := meta.DecodeBatch(entries[i].Data, &m.batch, m.machine.Level()); err != nil {
			return m.host.halt(fmt.Errorf("server: meta shard, entry %d: %w", entries[i].Index, err))
		}
		m.applied.Store(entries[i].Index)
		m.effects.Reset()
		m.machine.Apply(&m.batch, &m.effects)
		for j := range m.effects.List {
			if err := m.tell(&m.effects.List[j]); err != nil {
				return m.host.halt(err)
			}
		}
		m.told.Store(m.machine.Version())
		if m.unsettled {
			m.unsettled = false
			m.host.look()
		}
	}
	return nil
}

// tell acts on an effect. An error says that this replica must not go on.
func (m *metaReplica) tell(e *meta.Effect) error {
	switch e.Kind {
	case meta.EffectResult:
		if c := &m.batch.Commands[e.Op]; e.Status == protocol.StatusSuccess && c.Kind == meta.CmdDigestTake {
			m.takeDigest(c.Digest)
		} else if e.Status == protocol.StatusSuccess && c.Kind == meta.CmdDigestCompare {
			if err := m.digests.compare(c.Digest, c.Sum); err != nil {
				return err
			}
		}
		if m.batch.Proposer == m.host.proposer {
			m.land(m.batch.Sequence, e)
		}
	case meta.EffectNodeChanged:
		m.host.timing.changed(e.Node)
		m.host.quotaChanged(&e.Node)
		m.unsettled = true
	case meta.EffectHostSeen:
		m.unsettled = true
	case meta.EffectNodeDropped:
		m.host.nodeDropped(e.Node.ID)
	case meta.EffectHostsChanged, meta.EffectRoutingChanged:
		m.host.routes.changed()
	case meta.EffectLevelChanged:
		m.host.log.Info("the feature level of the cluster has risen", "level", m.machine.Level())
		m.host.look()
	}
	return nil
}

// PrepareSnapshot implements shard.StateMachine.
func (m *metaReplica) PrepareSnapshot() (shard.Snapshot, error) { return m.machine.PrepareSnapshot() }

// Restore implements shard.StateMachine.
func (m *metaReplica) Restore(r io.Reader) error {
	if err := m.machine.Restore(r); err != nil {
		if errors.Is(err, shard.ErrNewerFormat) {
			_ = m.host.halt(fmt.Errorf("server: %w", err))
		}
		return err
	}
	m.host.timing.reload(m.machine)
	m.host.quotas.reload(m.machine)
	m.told.Store(m.machine.Version())
	// Nodes may have been dropped without a word. Those that watch come again, and hear of it then.
	for _, r := range m.host.replicas {
		r.hub.End(protocol.Result{Status: protocol.StatusUnavailable, Message: "this host's copy of the meta shard was replaced"})
		r.duty.look()
	}
	m.host.routes.changed()
	m.host.look()
	return nil
}

// LeadershipChanged implements shard.StateMachine.
func (m *metaReplica) LeadershipChanged(l shard.Leadership) {
	m.leadership.Store(&l)
	m.host.routes.changed()
	m.host.look()
}

// confirm calls done when this copy has everything that was committed before, or could not make sure.
func (m *metaReplica) confirm(done func(ok bool)) {
	err := m.log.Barrier(func(err error) {
		if err == nil {
			m.caughtUp.Store(true)
		}
		done(err == nil)
	})
	if err != nil {
		done(false)
	}
}

// duties of the host towards the meta shard, at every look: the leader gives the cluster its slot table,
// and every host puts itself on record.
func (m *metaReplica) upkeep() {
	h := m.host
	if !m.caughtUp.Load() {
		m.confirm(func(ok bool) {
			if ok {
				h.look()
			}
		})
		return
	}
	if m.leads() && m.machine.Routing().Version == 0 {
		m.say(meta.Command{Kind: meta.CmdRoutingInit, Cluster: h.config.Cluster, Shards: dataShards(h.config.Shards)})
		return
	}
	if r := m.machine.Routing(); r.Version != 0 && (r.Cluster != h.config.Cluster || len(r.Shards) != h.config.Shards) {
		// Two slot maps in one cluster would give one name to two shards. Nobody is served.
		if !h.foreign.Swap(true) {
			h.log.Error("the cluster is another one than this host is configured for; it serves nobody",
				"cluster", r.Cluster, "shards", len(r.Shards), "configured", h.config.Cluster, "with shards", h.config.Shards)
		}
		return
	}
	me := meta.Host{
		ID: h.config.ID, Name: h.config.Name, RaftAddress: h.config.RaftAddress,
		ClientAddress: h.config.ClientAddress, AdminAddress: h.config.AdminAddress, Version: h.config.Version,
		Level: h.newest(),
	}
	known, ok := m.machine.Host(me.ID)
	me.Current, me.Target, me.Changed, me.Seen = known.Current, known.Target, known.Changed, known.Seen
	if ok && known == me {
		m.settle()
		m.raiseLevel()
		m.checkDigest()
		return
	}
	m.say(meta.Command{Kind: meta.CmdHostRegister, Host: me})
}
