package lease

import (
	"errors"
	"fmt"
	"time"

	"github.com/signalbox/signalbox/shard"
)

const (
	// DefaultStallAfter is the maximum time between calls of Due before the table assumes that the host was stalled.
	DefaultStallAfter = 2 * time.Second
	// RetryAfter is the wait after a failed expiry before the sessions are due again, so that a shard without a
	// quorum is not flooded with proposals.
	RetryAfter = 200 * time.Millisecond
	// maxChecks limits the work in one Due, and so the time under the table's lock.
	maxChecks = 20_000
	// driftShare is the fraction of a grace period (one part in driftShare) that Freshness leaves unused, for clock
	// drift between two hosts: enough for a difference of 1.5 percent.
	driftShare = 64
	// catchUpShare is the fraction of a stall (one part in catchUpShare) that clients get in addition, so that frames
	// from the meantime can be read. maxCatchUp is the maximum addition.
	catchUpShare = 4
	maxCatchUp   = 5 * time.Second
	// readerGone is how long a reader may be stalled before its connections count as silent.
	readerGone = 30 * time.Second
	// readerCheck is how long to wait for a stalled reader before the next check.
	readerCheck = 50 * time.Millisecond
	// maxTimeout is the maximum session timeout a table accepts.
	maxTimeout = shard.MaxSessionTimeout
)

// ErrConfig is wrapped by all errors from Validate.
var ErrConfig = errors.New("bad lease config")

// Config configures a Table.
type Config struct {
	// Grace returns how much time a node's sessions get in addition to their timeout after a leader change: the
	// largest grace period a host may still rely on. For a node the local host does not know (yet), Grace returns the
	// largest possible value. Restore calls Grace, and the period must not have fallen since the time passed to
	// Restore was read. Required.
	Grace func(shard.NodeID) time.Duration
	// Halt is called before the table panics because of a violated invariant: the host must not continue. May be nil.
	Halt func(error)
	// StallAfter is the maximum time between calls of Due without a stall; 0 means DefaultStallAfter.
	StallAfter time.Duration
}

// Validate checks the config. Its errors wrap ErrConfig.
func (c Config) Validate() error {
	switch {
	case c.Grace == nil:
		return fmt.Errorf("%w: Grace is missing", ErrConfig)
	case c.StallAfter < 0:
		return fmt.Errorf("%w: StallAfter is %v; it must not be negative", ErrConfig, c.StallAfter)
	}
	return nil
}

// assert stops the host: a table with a violated invariant must not judge which sessions are alive.
func assert(ok bool, what string) {
	if !ok {
		panic("lease: broken invariant: " + what)
	}
}

// assert is the function assert, after calling Config.Halt.
func (t *Table) assert(ok bool, what string) {
	if ok {
		return
	}
	if t.halt != nil {
		t.halt(errors.New("lease: broken invariant: " + what))
	}
	assert(false, what)
}
