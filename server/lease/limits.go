package lease

import (
	"errors"
	"fmt"
	"time"

	"github.com/signalbox/signalbox/shard"
)

const (
	// DefaultStallAfter is the longest time between calls of Due before the table assumes that this host was standing
	// still.
	DefaultStallAfter = 2 * time.Second
	// RetryAfter is how long sessions are left alone after a failed expiry, before they are due again: so a shard
	// without a quorum is not flooded with proposals.
	RetryAfter = 200 * time.Millisecond
	// maxChecks bounds the work of one Due, and so the time under the table's lock.
	maxChecks = 20_000
	// driftShare is the part of a grace period that Freshness leaves unused, for clocks of two hosts that run at
	// different speeds: good for a difference of 1.5 percent.
	driftShare = 64
	// catchUpShare is the share of a standstill that clients get on top, so that frames from the meantime can be
	// read, and maxCatchUp is the limit of the share.
	catchUpShare = 4
	maxCatchUp   = 5 * time.Second
	// readerGone is how long a reader may stand still before its connections count as silent.
	readerGone = 30 * time.Second
	// readerCheck is how long to wait for a reader that has not come round.
	readerCheck = 50 * time.Millisecond
	// maxTimeout is the longest session timeout that a table takes.
	maxTimeout = shard.MaxSessionTimeout
)

// ErrConfig is wrapped by the errors about every Config that Validate refuses.
var ErrConfig = errors.New("bad lease config")

// Config is the configuration of a Table.
type Config struct {
	// Grace returns how much time the sessions of a node get on top of their timeout after a change of leader. This
	// is the largest grace period that a host may still rely on, and for a node that this host does not know (yet)
	// the largest that a node can have. Restore asks for it, and the period must not have fallen since the time given
	// to Restore was read. Required.
	Grace func(shard.NodeID) time.Duration
	// Halt is called before the table panics over a broken invariant: the host must not go on. May be nil.
	Halt func(error)
	// StallAfter is the longest time between calls of Due without a stall; zero stands for DefaultStallAfter.
	StallAfter time.Duration
}

// Validate checks the config. An error is an ErrConfig.
func (c Config) Validate() error {
	switch {
	case c.Grace == nil:
		return fmt.Errorf("%w: Grace is missing", ErrConfig)
	case c.StallAfter < 0:
		return fmt.Errorf("%w: StallAfter is %v; it must not be negative", ErrConfig, c.StallAfter)
	}
	return nil
}

// assert stops the host: a table with a broken invariant must not judge which sessions are alive.
func assert(ok bool, what string) {
	if !ok {
		panic("lease: broken invariant: " + what)
	}
}

// assert is the function assert, by way of Config.Halt.
func (t *Table) assert(ok bool, what string) {
	if ok {
		return
	}
	if t.halt != nil {
		t.halt(errors.New("lease: broken invariant: " + what))
	}
	assert(false, what)
}
