package replica

import (
	"log/slog"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/executor"
	"github.com/signalbox/signalbox/server/metrics"
	"github.com/signalbox/signalbox/server/watch"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/hosts"
	"github.com/signalbox/signalbox/shard/machine"
	"github.com/signalbox/signalbox/shard/meta"
)

// Config configures a host's replicas.
type Config struct {
	Self    meta.Host // the host's own record, for registration; its level is the highest that the host supports
	Cluster string
	Hosts   []shard.HostID // all hosts in the cluster, until they are bootstrapped
	// Incarnations are the incarnations of the cluster's initial hosts, as far as known.
	Incarnations map[shard.HostID]hosts.Incarnation
	Shards       int          // data shards at the cluster's bootstrap
	Quotas       shard.Limits // for every data shard the host leads
	// ShardShare returns the byte quota for a number of data shards, if the shards share the host's memory; nil if the
	// number does not matter.
	ShardShare func(shards int) uint64
	// Logs opens the local host's end of a shard's log. Shard 0 is the meta shard. Logs fails with ErrNotMember if
	// the host has no replica.
	Logs func(id uint64, sm shard.StateMachine) (shard.Log, error)
	// Gained provides the logs for replicas that are added later. nil means that none are added.
	Gained Replicas
	// Calls makes calls to remote hosts, whose HomeShards.Answer answers about sessions. nil means that no host can
	// be called.
	Calls executor.Calls
	// Report makes the meta shard leader execute commands the host reports, with Meta.Reported. A report may be lost.
	// Report does not block. nil means that all reports are lost.
	Report func(commands []byte)
	// Rejoin is called after the host was stalled, and returns after remote hosts have had time to refuse the host.
	// nil means that no host refuses another.
	Rejoin func()
	// Show returns a session's description. It includes the session's holdings in the listed shards on the local host,
	// or in all shards on the host if parts is empty.
	Show func(id shard.SessionID, parts []uint64) protocol.Session
	// Apart is for tests: a shard replica the host does not lead is ignored in session lookups, as if it did not
	// exist.
	Apart bool
	// Delay is how long an acquire that will be queued may wait for other commands; see pipeline.Options.
	Delay          time.Duration
	QueuedBytes    int                // see pipeline.Options
	Syncs          *metrics.Histogram // see pipeline.Options
	DigestInterval time.Duration
	// Halt is called if the host cannot continue; may be nil.
	Halt  func(error)
	Clock func() time.Time // the host's monotonic time
	// NextAlarm, if set by a test, replaces the machine's answer to when an alarm is due in a data shard.
	NextAlarm func(id uint64, m *machine.Machine) (at uint64, ok bool)
	Log       *slog.Logger
	Metrics   *metrics.Metrics
	Watches   *watch.Budget // for streaming and one-shot watches
	// Fits returns an error if the host's memory cannot hold another state with the given number of quota bytes. May
	// be nil.
	Fits func(bytes uint64) error
	// Maintenance is called in every loop round, after the replicas' due work. changed means that the routing may
	// have changed. busy means that the next round has work.
	Maintenance func(now time.Time, changed bool) (busy bool)
}

// Set contains the host's replicas of all shards, their shared state, and the loop for their work with deadlines.
type Set struct {
	config   Config
	log      *slog.Logger
	metrics  *metrics.Metrics
	proposer uint64
	// Now returns the host's time for judging leases and proofs. The time is monotonic; a simulation may give every
	// host its own clock.
	Now        func() time.Time
	Started    time.Time
	Meta       *Meta
	shards     atomic.Pointer[shardTable]
	placing    sync.Mutex // serializes changes of shards
	moves      moves
	timing     *timing
	quotas     quotas
	HomeShards HomeShards
	Sessions   Sessions

	wakes     chan struct{}
	upkeepDue atomic.Bool // the routing or the meta shard may need work
	resting   atomic.Bool // the loop waits for longer than a Tick
	stirred   atomic.Bool // something has appeared since the loop's last round
	stop      chan struct{}
	loop      sync.WaitGroup
	digesting sync.WaitGroup // goroutines that compute digests
	retiring  sync.WaitGroup // goroutines that close replicas from earlier groups, or rejoin
	foreign   atomic.Bool    // the cluster differs from the host's configuration
	// changing has a token while a replica arrives or leaves. A mutex is unsuitable because a change may take long: a
	// test's virtual time stops while a goroutine waits for a mutex.
	changing chan struct{}
	closed   bool // guarded by changing
	// round is when the loop began its latest round, by Since. rejoining is set while Rejoin is called.
	round     atomic.Int64
	rejoining atomic.Bool
	// groups are the shard groups last seen by the loop. lost is what Lost returns.
	groups map[hosts.ShardID]uint64
	lost   atomic.Pointer[[]protocol.LostHoldings]
	// AfterBind, if set by a test, is called between binding a session and checking that the session still exists.
	AfterBind func()
}

// New returns replicas without logs.
func New(config Config) *Set {
	s := &Set{
		config: config, log: config.Log, metrics: config.Metrics, proposer: rand.Uint64(),
		Now: config.Clock, Started: config.Clock(), timing: newTiming(),
		quotas: quotas{nodes: make(map[shard.NodeID]shard.Limits)},
		wakes:  make(chan struct{}, 1), stop: make(chan struct{}), changing: make(chan struct{}, 1),
	}
	s.HomeShards.init(s)
	s.Sessions.set = s
	s.moves.init(s)
	s.Meta = s.newMetaReplica()
	s.shards.Store(newShardTable(s.seatsAtStart()))
	return s
}

// dataShards returns the data shard ids in a new cluster with n data shards.
func dataShards(n int) []meta.ShardID {
	ids := make([]meta.ShardID, n)
	for i := range ids {
		ids[i] = meta.ShardID(i + 1)
	}
	return ids
}

// Open restores the replicas and starts the loop. When Open returns, the replicas participate in their shards.
func (s *Set) Open() error {
	for _, at := range s.seats() {
		if err := s.open(at); err != nil {
			s.closeLogs()
			return err
		}
	}
	s.round.Store(s.Clock())
	s.loop.Go(s.run)
	return nil
}

// change begins a change to the running replicas. Changes are serialized; the returned function ends the change.
func (s *Set) change() (end func()) {
	s.changing <- struct{}{}
	return func() { <-s.changing }
}

func (s *Set) closeLogs() {
	defer s.change()()
	s.closed = true
	for _, r := range s.withSeats() {
		r.Pipeline.Close()
		_ = r.log.Close()
	}
	_ = s.Meta.log.Close()
}

// Close stops the loop and the replicas.
func (s *Set) Close() {
	close(s.stop)
	s.loop.Wait()
	s.moves.close()
	s.HomeShards.close()
	s.closeLogs()
	s.digesting.Wait()
	s.retiring.Wait()
	for _, r := range s.withSeats() {
		r.Hub.Close()
		r.Inboxes.Wait()
	}
}

// withSeats returns the data shard replicas, including those of removed shards that are still to be discarded.
func (s *Set) withSeats() []*Replica {
	t := s.shards.Load()
	return slices.Concat(t.all, t.aside)
}

// Holds reports whether the host has a replica of a shard.
func (s *Set) Holds(id uint64) bool {
	at, known := s.seatOf(id)
	return known && at.end.on.Load() != nil
}

// missing lists the shards of which the host should have a replica, but has none. A shard that is added while the host
// runs does not count: other hosts serve the shard until the host has a replica.
func (s *Set) missing() string {
	var list []string
	t, bootstrapped := s.Meta.Machine.Topology()
	for _, at := range s.seats() {
		initial := at.id <= uint64(s.config.Shards)
		if at.end.on.Load() == nil && initial && !(bootstrapped && s.elsewhere(t.Records, hosts.ShardID(at.id))) {
			list = append(list, strconv.FormatUint(at.id, 10))
		}
	}
	return strings.Join(list, ", ")
}

// elsewhere reports whether all replicas of a shard are on remote hosts.
func (s *Set) elsewhere(r *hosts.Records, id hosts.ShardID) bool {
	if !r.Spread() || id == hosts.Meta {
		return false
	}
	on := r.Shard(id)
	if retired(on) {
		return true
	}
	p := on.On(s.config.Self.ID)
	return p == nil || !p.Member()
}

// Since returns a time in nanoseconds since host start.
func (s *Set) Since(t time.Time) int64 { return int64(t.Sub(s.Started)) }

// Clock returns Since for the current time.
func (s *Set) Clock() int64 { return int64(s.Now().Sub(s.Started)) }

// Moved returns the redirect for clients: the shard's leader, as far as the host knows.
func (s *Set) Moved(r *Replica) protocol.Result { return s.MovedTo(r.ID, r.Known().Leader) }

// MovedTo is Moved for any shard and a given leader.
func (s *Set) MovedTo(id uint64, leader shard.HostID) protocol.Result {
	if leader == 0 || leader == s.config.Self.ID {
		message := "the shard has no leader at the moment"
		if id == MetaShard {
			message = "the meta shard has no leader at the moment"
		}
		return protocol.Result{Status: protocol.StatusUnavailable, Message: message, WaitMillis: 20}
	}
	return protocol.Result{Status: protocol.StatusMoved, Moved: protocol.Moved{
		ShardID: id, LeaderHostID: uint64(leader), LeaderAddress: s.Meta.AddressOf(leader),
		RoutingVersion: s.Meta.RoutingVersion(),
	}}
}

// Halt stops a host that cannot continue with a shard, because its replica would differ from the others.
func (s *Set) Halt(err error) error {
	s.log.Error("fatal error, the host stops", "error", err)
	if s.config.Halt != nil {
		s.config.Halt(err)
	}
	return err
}

// Foreign reports whether the cluster differs from the host's configuration.
func (s *Set) Foreign() bool { return s.foreign.Load() }

// ChangingTiming returns the nodes whose grace or self-check period is changing, as far as the host knows.
func (s *Set) ChangingTiming() []shard.NodeID { return s.timing.changing() }

// NoSuchNode explains why a request about a node is refused.
const NoSuchNode = "the node id does not exist"

// NodeGone is the answer about a dropped node.
var NodeGone = protocol.Result{Status: protocol.StatusNotFound, Message: "the node was dropped"}

// nodeDropped ends the watches in a dropped node, and makes the shards clear the node.
func (s *Set) nodeDropped(id shard.NodeID) {
	s.timing.forget(id)
	s.quotas.forget(id)
	for _, r := range s.All() {
		r.Hub.EndNode(id, NodeGone)
		r.leader.recheck()
	}
}
