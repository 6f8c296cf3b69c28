package replica

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/access"
	"github.com/signalbox/signalbox/shard/clock"
	"github.com/signalbox/signalbox/shard/hosts"
	"github.com/signalbox/signalbox/shard/meta"
)

// MetaShard is the meta shard's id; data shard ids start at 1.
const MetaShard = 0

// Meta is the host's replica of the meta shard.
type Meta struct {
	set     *Set
	Machine *meta.Machine
	end     end
	log     shard.Log // the field end, unless a test puts another log in front

	leadership atomic.Pointer[shard.Leadership]
	announced  announced
	applied    atomic.Uint64 // index of the last applied entry
	// caughtUp is the incarnation in which a barrier has proven the local replica up to date: since host start, or
	// since another replica arrived. Before that barrier, the host must not lead a shard, answer for a session or end
	// a session, because it may not know about a longer grace period.
	caughtUp, incarnation atomic.Uint64
	// sure is when the latest successful barrier began, in nanoseconds since host start, plus one; 0 means no barrier
	// yet.
	sure    atomic.Int64
	rights  atomic.Pointer[access.Book] // from everything that was applied
	digests digests
	term    metaTerm
	// appliedVersion is the machine version on which the host's timing is based.
	appliedVersion atomic.Uint64

	// Used while batches are applied.
	batch          meta.Batch
	effects        meta.Effects
	periodsChanged bool // something a timing change waits for may have arrived

	mu       sync.Mutex // guards the fields below
	sequence uint64
	inflight map[uint64]done
	requests int // number of client commands in inflight
}

// maxRequests is the maximum number of concurrent client commands per host in the meta shard. The log accepts more,
// to leave capacity for host reports.
const maxRequests = 128

// done receives a command's result, or nil and the reason why the result is unknown. The goroutine that applies
// batches calls done, so done must not block.
type done func(e *meta.Effect, failed protocol.Status)

func (s *Set) newMetaReplica() *Meta {
	m := &Meta{set: s, Machine: meta.New(), inflight: make(map[uint64]done)}
	m.leadership.Store(&shard.Leadership{})
	m.log = &m.end
	m.incarnation.Store(1)
	m.rights.Store(m.Machine.Rights())
	m.digests.init(s, MetaShard, func(number, sum uint64) {
		if m.leads() {
			m.request(meta.Command{Kind: meta.CmdDigestCompare, Digest: number, Sum: sum})
		}
	})
	return m
}

// empty resets the replica to the state before any entry was applied.
func (m *Meta) empty() error {
	saved, err := snapshotOf(meta.New())
	if err != nil {
		return err
	}
	return m.Restore(saved)
}

// gone is called when the replica has left. From then on, the host's knowledge about the cluster becomes stale.
func (m *Meta) gone() {
	m.incarnation.Add(1)
	m.LeadershipChanged(shard.Leadership{Term: m.Leader().Term})
}

func (m *Meta) leads() bool { return m.leadership.Load().Leader == m.set.config.Self.ID }

// Propose passes a client's command to the log. Client commands are rare, so every command is a separate batch. If
// too many commands are in progress, done gets OVERLOADED.
func (m *Meta) Propose(c meta.Command, done done) {
	m.mu.Lock()
	full := m.requests == maxRequests
	if !full {
		m.requests++
	}
	m.mu.Unlock()
	if full {
		done(nil, protocol.StatusOverloaded)
		return
	}
	m.propose(func(e *meta.Effect, failed protocol.Status) {
		m.mu.Lock()
		m.requests--
		m.mu.Unlock()
		done(e, failed)
	}, c)
}

// propose passes commands to the log in one batch, stamped with the host's term. done gets the first command's
// result.
func (m *Meta) propose(done done, commands ...meta.Command) {
	above := func(c meta.Command) bool { return meta.LevelOf(&c) > m.Machine.Level() }
	if slices.ContainsFunc(commands, above) {
		done(nil, protocol.StatusUnsupported)
		return
	}
	stamp := m.term.stamp(m.set.Now())
	if stamp.Term == 0 {
		done(nil, protocol.StatusUnavailable)
		return
	}
	m.mu.Lock()
	m.sequence++
	sequence := m.sequence
	m.inflight[sequence] = done
	m.mu.Unlock()
	data, err := m.encode(sequence, stamp, commands)
	if err != nil {
		m.set.log.Error("a meta shard command is too large for the log", "error", err)
		m.recordOutcome(sequence, nil)
		return
	}
	err = m.log.Propose(data, func(o shard.Outcome) {
		if o != shard.OutcomeApplied {
			m.recordOutcome(sequence, nil)
		}
	})
	if err != nil {
		m.recordOutcome(sequence, nil)
	}
}

func (m *Meta) encode(sequence uint64, stamp clock.Stamp, commands []meta.Command) ([]byte, error) {
	for i := range commands {
		commands[i].Level = cmp.Or(commands[i].Level, m.Machine.Level())
	}
	return meta.AppendBatch(nil, &meta.Batch{
		Proposer: m.set.proposer, Sequence: sequence, Stamp: stamp, Commands: commands,
	})
}

// recordOutcome sets a command's outcome, if not set yet.
func (m *Meta) recordOutcome(sequence uint64, e *meta.Effect) {
	m.mu.Lock()
	done := m.inflight[sequence]
	delete(m.inflight, sequence)
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
func (m *Meta) Apply(entries []shard.Entry) error {
	for i := range entries {
		if err := meta.DecodeBatch(entries[i].Data, &m.batch, m.Machine.Level()); err != nil {
			return m.set.Halt(fmt.Errorf("server: meta shard, entry %d: %w", entries[i].Index, err))
		}
		entries[i].Commands = len(m.batch.Commands)
		m.effects.Reset()
		m.Machine.Apply(&m.batch, &m.effects)
		m.applied.Store(entries[i].Index)
		m.rights.Store(m.Machine.Rights())
		for j := range m.effects.List {
			if err := m.handle(&m.effects.List[j]); err != nil {
				return m.set.Halt(err)
			}
		}
		m.appliedVersion.Store(m.Machine.Version())
		m.recordOutcomes()
		if m.periodsChanged {
			m.periodsChanged = false
			m.set.requestUpkeep()
		}
	}
	m.set.Stir()
	return nil
}

// recordOutcomes sets the outcomes for the commands in the local host's batch. The host applies all effects of the
// batch first: a client that is answered may attach a session at once, and the leases must already know the grace
// period of the session's node.
func (m *Meta) recordOutcomes() {
	if m.batch.Proposer != m.set.proposer {
		return
	}
	for i := range m.effects.List {
		if e := &m.effects.List[i]; e.Kind == meta.EffectResult {
			m.recordOutcome(m.batch.Sequence, e)
		}
	}
}

// handle acts on an effect, except for the command's outcome. An error means that the replica must not continue.
func (m *Meta) handle(e *meta.Effect) error {
	switch e.Kind {
	case meta.EffectResult:
		if c := &m.batch.Commands[e.Op]; e.Status == protocol.StatusSuccess && c.Kind == meta.CmdLead {
			m.term.applied(c.Term, m.set.Now())
		} else if e.Status == protocol.StatusSuccess && c.Kind == meta.CmdDigestTake {
			m.takeDigest(c.Digest)
		} else if e.Status == protocol.StatusSuccess && c.Kind == meta.CmdDigestCompare {
			if err := m.digests.compare(c.Digest, c.Sum); err != nil {
				return err
			}
		}
	case meta.EffectNodeChanged:
		m.set.timing.changed(e.Node)
		m.set.quotaChanged(&e.Node)
		m.periodsChanged = true
	case meta.EffectHostObservation:
		m.periodsChanged = true
	case meta.EffectNodeDropped:
		m.set.nodeDropped(e.Node.ID)
	case meta.EffectRoutingChanged:
		m.set.noteRouting()
		m.set.requestUpkeep()
	case meta.EffectHostsChanged, meta.EffectTopologyChanged:
		m.set.requestUpkeep()
	case meta.EffectAudited:
		m.logAudited(&e.Entry)
	case meta.EffectLevelChanged:
		m.set.log.Info("the feature level of the cluster has risen", "level", m.Machine.Level())
		m.set.requestUpkeep()
	}
	return nil
}

// PrepareSnapshot implements shard.StateMachine.
func (m *Meta) PrepareSnapshot() (shard.Snapshot, error) { return m.Machine.PrepareSnapshot() }

// Restore implements shard.StateMachine.
func (m *Meta) Restore(r io.Reader) error {
	if err := m.Machine.Restore(r); err != nil {
		if errors.Is(err, shard.ErrNewerFormat) {
			_ = m.set.Halt(fmt.Errorf("server: %w", err))
		}
		return err
	}
	m.rights.Store(m.Machine.Rights())
	m.set.timing.reload(m.Machine)
	m.set.quotas.reload(m.Machine)
	m.appliedVersion.Store(m.Machine.Version())
	m.set.noteRouting()
	// Nodes may have been dropped without an effect. Clients reopen their watches, and receive the changes then.
	for _, r := range m.set.All() {
		r.Hub.End(protocol.Result{Status: protocol.StatusUnavailable,
			Message: "the local replica of the meta shard was replaced"})
		r.leader.recheck()
	}
	m.set.requestUpkeep()
	return nil
}

// LeadershipChanged implements shard.StateMachine.
func (m *Meta) LeadershipChanged(l shard.Leadership) {
	m.term.changed(l, m.set.config.Self.ID)
	m.beginTerm() // before any proposal in the term
	m.leadership.Store(&l)
	m.set.requestUpkeep()
}

// CaughtUp reports whether a barrier has proven the local replica up to date since the host or the replica started.
func (m *Meta) CaughtUp() bool { return m.caughtUp.Load() == m.incarnation.Load() }

// Rights returns the book of rights, based on everything that was applied here.
func (m *Meta) Rights() *access.Book { return m.rights.Load() }

// SureFor returns the time since the start of the latest barrier that proved the replica up to date.
func (m *Meta) SureFor(now time.Time) time.Duration {
	begun := m.sure.Load()
	if begun == 0 || !m.CaughtUp() {
		return math.MaxInt64
	}
	return time.Duration(max(m.set.Since(now)-(begun-1), 0))
}

// raise raises a number to the value of to, unless it is already higher.
func raise(n *atomic.Int64, to int64) {
	for {
		if at := n.Load(); at >= to || n.CompareAndSwap(at, to) {
			return
		}
	}
}

// Confirm calls done when the replica has everything that was committed before the call (ok), or when this could not
// be confirmed.
func (m *Meta) Confirm(done func(ok bool)) {
	incarnation, begun := m.incarnation.Load(), m.set.Clock()+1
	err := m.log.Barrier(func(err error) {
		if err == nil {
			m.caughtUp.Store(incarnation)
			raise(&m.sure, begun)
		}
		done(err == nil)
	})
	if err != nil {
		done(false)
	}
}

// confirmed reports whether the replica was recently up to date, for a caller that can wait.
func (m *Meta) confirmed(limit time.Duration) bool {
	return m.SureFor(m.set.Now()) <= staleAfter || within(limit, m.Confirm)
}

// upkeep runs once per upkeep round of the set. The meta shard leader proposes the initial slot table; every host
// registers itself.
func (m *Meta) upkeep() {
	s := m.set
	if !m.CaughtUp() {
		m.Confirm(func(ok bool) {
			if ok {
				s.requestUpkeep()
			}
		})
		return
	}
	m.beginTerm()
	if m.leads() && m.Machine.Routing().Version == 0 {
		shards := dataShards(s.config.Shards)
		m.request(meta.Command{Kind: meta.CmdRoutingInit, Cluster: s.config.Cluster, Shards: shards})
		return
	}
	r := m.Machine.Routing()
	if r.Version != 0 && (r.Cluster != s.config.Cluster ||
		!m.Machine.Bootstrapped() && len(r.Shards) != s.config.Shards) {
		// Two slot maps in one cluster would map one name to two shards. No client is served.
		if !s.foreign.Swap(true) {
			s.log.Error("the host is configured for another cluster and serves no requests",
				"cluster", r.Cluster, "shards", len(r.Shards), "configured", s.config.Cluster,
				"with shards", s.config.Shards)
		}
		return
	}
	if r.Version != 0 {
		s.dropShards(&r)
	}
	me := s.config.Self
	known, ok := m.Machine.Host(me.ID)
	me.Current, me.Target, me.Changed, me.Seen = known.Current, known.Target, known.Changed, known.Seen
	if ok && known == me || m.Machine.Bootstrapped() {
		m.confirmPeriods()
		m.raiseLevel()
		m.foundHosts()
		m.checkDigest()
		return
	}
	m.request(meta.Command{Kind: meta.CmdHostRegister, Host: me})
}

// AppliedIndex returns the index of the last applied entry.
func (m *Meta) AppliedIndex() uint64 { return m.applied.Load() }

// Leader returns the meta shard's leadership, as far as the host knows.
func (m *Meta) Leader() shard.Leadership { return *m.leadership.Load() }

// RoutingVersion increases with every change that affects client routing, identically on all hosts: changes to the
// slot table, to hosts as clients see them, and to the hosts with a shard's replica. A leader change does not count:
// clients learn the leader from MOVED, and from the answer to ROUTING.
func (m *Meta) RoutingVersion() uint64 {
	version, changed := m.Machine.Routing().Version<<32, uint64(0)
	for _, h := range m.Machine.Hosts() {
		changed = max(changed, h.Changed)
	}
	return version | changed&(1<<32-1)
}

// AddressOf returns a host's client address, empty if unknown.
func (m *Meta) AddressOf(id shard.HostID) string {
	if id == m.set.config.Self.ID {
		return m.set.config.Self.ClientAddress
	}
	h, _ := m.Machine.Host(id)
	return h.ClientAddress
}

// heardMillis is the maximum age of a host's last answer for the host to count as heard. A leader calls the other
// hosts many times more often.
const heardMillis = 2000

// Hears reports whether a host has answered the meta shard leader recently. Hears returns false if the local host
// does not lead, and for a host without a meta shard replica.
func (m *Meta) Hears(id shard.HostID) bool {
	t, ok := m.Machine.Topology()
	if !ok {
		return false
	}
	own := func(replica uint64) bool {
		r := t.Records.Shard(hosts.Meta).Replica(replica)
		return r != nil && r.Host == id
	}
	return slices.ContainsFunc(m.end.Progress(), func(p shard.Progress) bool {
		return p.SilentMillis < heardMillis && own(p.Replica)
	})
}
