package memlog

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/signalbox/signalbox/shard"
)

// Limits and defaults.
const (
	// DefaultElectionTimeout is short because a simulated host is never late unless a test sets a fault.
	DefaultElectionTimeout = 150 * time.Millisecond
	// DefaultProposalTimeout is the maximum time for a proposal.
	DefaultProposalTimeout = 2 * time.Second
	// DefaultBarrierTimeout is how long a barrier waits for a majority.
	DefaultBarrierTimeout = time.Second
	// DefaultMaxInFlight bounds a log's proposals in flight, and separately its barriers.
	DefaultMaxInFlight = 1024
	// DefaultMaxInFlightBytes bounds the bytes of a log's proposals in flight.
	DefaultMaxInFlightBytes = 64 << 20
	// MaxHosts bounds a network. Some work is quadratic in the number of hosts.
	MaxHosts = 64

	// maxAppendEntries is the maximum number of entries in a message.
	maxAppendEntries = 256
	// maxHeld is the maximum number of events waiting for a paused host. Further messages are lost, as with full socket
	// buffers.
	maxHeld = 10_000
	// maxEventsAtOnce is the maximum number of events in one call of Step, Advance or RunUntil without virtual time
	// advancing. Only a callback in an endless loop exceeds it.
	maxEventsAtOnce = 1_000_000
	// heartbeatsPerTimeout is how many heartbeats fit into the default election timeout.
	heartbeatsPerTimeout = 5
)

// ErrConfig is returned wrapped by Validate and NewNetwork for an invalid config.
var ErrConfig = errors.New("memlog: bad config")

// Delay is a range for uniformly random delays, both ends included.
type Delay struct {
	Min, Max time.Duration
}

// Exactly is a constant delay.
func Exactly(d time.Duration) Delay { return Delay{Min: d, Max: d} }

// Between is a delay from lo to hi.
func Between(lo, hi time.Duration) Delay { return Delay{Min: lo, Max: hi} }

// draw returns a random delay. A range with a single value consumes no random number.
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

// Config describes a new Network. Every field except Hosts has a useful zero value.
type Config struct {
	// Seed decides all random choices.
	Seed uint64
	// Hosts are the hosts of the network: at least one, no zero, no duplicates.
	Hosts []shard.HostID

	// Path is the initial path between any two hosts. SetPath changes it.
	Path Path
	// Disk is the initial fsync time on every host. SetDisk changes it.
	Disk Delay

	// ElectionTimeout T: a follower without contact to a leader for a random time between T and 2T starts an election.
	// Default DefaultElectionTimeout.
	ElectionTimeout time.Duration
	// Heartbeat is the interval between heartbeats, which also detect and repeat lost messages. It must be shorter than
	// ElectionTimeout. Default: a fifth of ElectionTimeout.
	Heartbeat time.Duration
	// CheckQuorum makes a leader step down if no majority answered within ElectionTimeout. Without it, a leader
	// believes to lead until it hears of a higher term, which is harder for users.
	CheckQuorum bool

	// ProposalTimeout ends a pending batch as OutcomeUnknown. Default DefaultProposalTimeout.
	ProposalTimeout time.Duration
	// BarrierTimeout ends a barrier with shard.ErrNoQuorum. Default DefaultBarrierTimeout.
	BarrierTimeout time.Duration
	// MaxInFlight and MaxInFlightBytes bound the operations in flight per log; beyond the bounds, the log answers
	// shard.ErrLogBusy. Defaults DefaultMaxInFlight, DefaultMaxInFlightBytes.
	MaxInFlight      int
	MaxInFlightBytes int

	// LateOutcome is the probability (0..1) that a batch is reported as OutcomeUnknown when its leader appends it. The
	// batch is still replicated.
	LateOutcome float64
	// UnknownOnTermChange is the probability (0..1) that a pending batch ends as OutcomeUnknown when its host learns of
	// a newer term. Otherwise the batch ends when applied, when overwritten, or by ProposalTimeout.
	UnknownOnTermChange float64

	// SnapshotEvery is the number of entries between snapshots; a snapshot compacts the log. 0 disables snapshots, and
	// the log grows without limit.
	SnapshotEvery uint64
	// SnapshotKeep is the number of entries before a snapshot that stay in the log for lagging followers.
	SnapshotKeep uint64
	// SnapshotSave is how long after PrepareSnapshot a snapshot is saved.
	SnapshotSave Delay

	// Trace, if set, receives every record immediately. It is called under the network's lock: it must return soon and
	// must not call the network.
	Trace func(Record)
}

// Validate returns an error describing the first invalid setting.
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
