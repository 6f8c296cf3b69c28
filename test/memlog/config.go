package memlog

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/signalbox/signalbox/shard"
)

// The limits and defaults of a Network.
const (
	// DefaultElectionTimeout is short because a simulated host is never late unless a test sets a fault.
	DefaultElectionTimeout = 150 * time.Millisecond
	// DefaultProposalTimeout is how long a batch may be under way before its proposer gives up.
	DefaultProposalTimeout = 2 * time.Second
	// DefaultBarrierTimeout is how long a barrier waits for a majority.
	DefaultBarrierTimeout = time.Second
	// DefaultMaxInFlight bounds the proposals, and apart from them the barriers, of one log.
	DefaultMaxInFlight = 1024
	// DefaultMaxInFlightBytes bounds the bytes of one log's proposals under way.
	DefaultMaxInFlightBytes = 64 << 20
	// MaxHosts bounds a network: some of what it does is quadratic in its hosts.
	MaxHosts = 64

	// maxAppendEntries is the most entries that one message to a follower carries.
	maxAppendEntries = 256
	// maxHeld is how many events wait for a paused host. Further messages are lost, as when the buffers of its sockets
	// are full.
	maxHeld = 10_000
	// maxEventsAtOnce is how many events may happen in one call of Step, Advance or RunUntil while time stands still.
	// More come only from a callback that repeats something at once and for ever.
	maxEventsAtOnce = 1_000_000
	// heartbeatsPerTimeout is how many heartbeats fit into the default election timeout.
	heartbeatsPerTimeout = 5
)

// ErrConfig is returned wrapped by Validate and NewNetwork for an invalid config.
var ErrConfig = errors.New("memlog: bad config")

// Delay is a range that delays are drawn from, evenly, both ends included.
type Delay struct {
	Min, Max time.Duration
}

// Exactly is the delay that is always d.
func Exactly(d time.Duration) Delay { return Delay{Min: d, Max: d} }

// Between is a delay of lo to hi.
func Between(lo, hi time.Duration) Delay { return Delay{Min: lo, Max: hi} }

// draw returns a delay of the range. Where only one is possible it draws no random number.
func (d Delay) draw(rng *rand.Rand) time.Duration {
	if d.Max <= d.Min {
		return d.Min
	}
	return d.Min + time.Duration(rng.Int64N(int64(d.Max-d.Min)+1))
}

func (d Delay) validate(what string) error {
	if d.Min < 0 || d.Max < d.Min {
		return fmt.Errorf("%w: %s is %v..%v: want 0 <= Min <= Max", ErrConfig, what, d.Min, d.Max)
	}
	return nil
}

// Config describes a Network at its beginning. The zero value of every field but Hosts is useful.
type Config struct {
	// Seed decides all random choices.
	Seed uint64
	// Hosts are the hosts of the network. At least one; no zero, no duplicates.
	Hosts []shard.HostID

	// Path is what every direction between two hosts is like until SetPath changes it.
	Path Path
	// Disk is how long an fsync takes on every host until SetDisk changes it.
	Disk Delay

	// ElectionTimeout T: a follower that heard of no leader for a random time of T to 2T tries to
	// become one. Default DefaultElectionTimeout.
	ElectionTimeout time.Duration
	// Heartbeat is how often a leader sends heartbeats, which is when lost messages are noticed and repeated. It must
	// be shorter than ElectionTimeout. Default a fifth of it.
	Heartbeat time.Duration
	// CheckQuorum makes a leader step down that no majority answered for ElectionTimeout. Without it, which is harder
	// on users, it believes that it leads until it hears of a higher term.
	CheckQuorum bool

	// ProposalTimeout ends a batch that is still under way as OutcomeUnknown. Default
	// DefaultProposalTimeout.
	ProposalTimeout time.Duration
	// BarrierTimeout ends a barrier with shard.ErrNoQuorum. Default DefaultBarrierTimeout.
	BarrierTimeout time.Duration
	// MaxInFlight and MaxInFlightBytes bound what one log has under way; beyond them it answers
	// shard.ErrLogBusy. Defaults DefaultMaxInFlight, DefaultMaxInFlightBytes.
	MaxInFlight      int
	MaxInFlightBytes int

	// LateOutcome is the probability (0..1) that a batch is reported as OutcomeUnknown at the moment its leader appends
	// it. It is replicated all the same.
	LateOutcome float64
	// UnknownOnTermChange is the probability (0..1) that a batch under way ends as OutcomeUnknown at
	// the moment its host learns of a newer term. Otherwise it ends when it is applied after all, when
	// it is overwritten, or by ProposalTimeout.
	UnknownOnTermChange float64

	// SnapshotEvery is after how many entries a replica takes a snapshot and drops the log before it;
	// zero takes none, and the log grows for ever.
	SnapshotEvery uint64
	// SnapshotKeep is how many entries before a snapshot stay in the log, for followers that lag.
	SnapshotKeep uint64
	// SnapshotSave is how long after PrepareSnapshot a snapshot is saved.
	SnapshotSave Delay

	// Trace, where set, is given every record as it is made. It is called under the network's lock: it must return soon
	// and must not call the network.
	Trace func(Record)
}

// Validate returns an error that says what is wrong with the config, if something is.
func (c Config) Validate() error {
	if len(c.Hosts) == 0 || len(c.Hosts) > MaxHosts {
		return fmt.Errorf("%w: %d hosts: want 1 to %d", ErrConfig, len(c.Hosts), MaxHosts)
	}
	seen := make(map[shard.HostID]bool, len(c.Hosts))
	for _, h := range c.Hosts {
		if h == 0 || seen[h] {
			return fmt.Errorf("%w: host id %d is zero or there twice", ErrConfig, h)
		}
		seen[h] = true
	}
	d := c.withDefaults()
	if d.ElectionTimeout < 0 || d.Heartbeat <= 0 || d.Heartbeat >= d.ElectionTimeout {
		return fmt.Errorf("%w: heartbeat %v, election timeout %v: want 0 < heartbeat < timeout",
			ErrConfig, d.Heartbeat, d.ElectionTimeout)
	}
	if d.ProposalTimeout < 0 || d.BarrierTimeout < 0 || d.MaxInFlight < 0 || d.MaxInFlightBytes < 0 {
		return fmt.Errorf("%w: a timeout or bound is negative", ErrConfig)
	}
	for _, p := range []float64{c.LateOutcome, c.UnknownOnTermChange} {
		if !(p >= 0 && p <= 1) {
			return fmt.Errorf("%w: probability %v: want 0 to 1", ErrConfig, p)
		}
	}
	return errors.Join(c.Path.validate(), c.Disk.validate("Disk"), c.SnapshotSave.validate("SnapshotSave"))
}

func (c Config) withDefaults() Config {
	orDuration := func(d *time.Duration, otherwise time.Duration) {
		if *d == 0 {
			*d = otherwise
		}
	}
	orDuration(&c.ElectionTimeout, DefaultElectionTimeout)
	orDuration(&c.Heartbeat, c.ElectionTimeout/heartbeatsPerTimeout)
	orDuration(&c.ProposalTimeout, DefaultProposalTimeout)
	orDuration(&c.BarrierTimeout, DefaultBarrierTimeout)
	if c.MaxInFlight == 0 {
		c.MaxInFlight = DefaultMaxInFlight
	}
	if c.MaxInFlightBytes == 0 {
		c.MaxInFlightBytes = DefaultMaxInFlightBytes
	}
	return c
}
