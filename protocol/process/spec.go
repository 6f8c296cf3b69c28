package process

import (
	"cmp"
	"fmt"
	"time"

	"github.com/signalbox/signalbox/protocol/field"
)

// Spec is what an operator says of a process. Times are counted in whole milliseconds, rounded up.
type Spec struct {
	// OpenDelay is for how long no member has come or gone before the next epoch opens, so that many members that start
	// at a time cause one epoch; MaxOpenDelay is how long an epoch waits for such a pause at the most. 0 stands for
	// 100 ms and 2 s. With a millisecond the last of the MinMembers opens the epoch, where more than one is wanted.
	OpenDelay    time.Duration
	MaxOpenDelay time.Duration
	// MinMembers is how many members an epoch has at the least; 0 stands for one.
	MinMembers int
	// ReplyTimeout is how long a member has to prepare, and to reply to a request; 0 is for ever. OnTimeout says what
	// becomes of a member that has not.
	ReplyTimeout time.Duration
	OnTimeout    OnTimeout
	// MaxPayload is how many bytes a request, a reply and a result may have, KeepResults how many results are kept. 0
	// stands for 64 KiB and 16.
	MaxPayload  int `name:"max_payload_bytes"`
	KeepResults int
}

// The limits of what is said of a process, and in a process. Every replica must agree on the limits, so the limits are
// constants. A command beyond a limit is refused before the command has any effect.
const (
	// MaxMembers is how many members a process has at once. A broadcast, and the opening of an epoch, touch all members
	// in one command, which may touch shard.MaxTouched links.
	MaxMembers    = 2000
	MaxPayload    = 64 << 10 // bytes of a request, a reply and a result that a spec may allow
	MinKeep       = 1        // results that are kept
	MaxKeep       = 64
	MaxText       = field.MaxText // bytes of the name of a member, an author, a reason
	MaxFailure    = 1024          // bytes of why a member could not do what it was asked
	MaxAttributes = 1024          // bytes of what a member says of itself
	MaxWord       = 64            // bytes of the code of a reason
	MaxNamed      = 8             // members that a reason names
	MaxReason     = 4096          // bytes of why a round does not move
	MaxOpenDelay  = 10 * time.Minute
	MaxTimeout    = 30 * 24 * time.Hour // to reply
)

// Fields implements field.Value. In the log OnTimeout stands behind the numbers.
func (s *Spec) Fields(c field.Coder) {
	onTimeout := func() { field.Enum(c, "on_timeout", &s.OnTimeout, onTimeouts) }
	c.Millis("open_delay_ms", &s.OpenDelay)
	c.Millis("max_open_delay_ms", &s.MaxOpenDelay)
	c.Count("min_members", &s.MinMembers)
	c.Millis("reply_timeout_ms", &s.ReplyTimeout)
	if c.Form() == field.Wire {
		onTimeout()
	}
	c.Count("payload_bytes", &s.MaxPayload)
	c.Count("keep_results", &s.KeepResults)
	if c.Form() == field.Log {
		onTimeout()
	}
}

// WithDefaults returns the spec with the defaults for what is left out. A host fills the defaults in before the spec
// goes into the log, so that other defaults of a later build change no spec in a log.
func (s Spec) WithDefaults() Spec {
	s.OpenDelay = cmp.Or(s.OpenDelay, 100*time.Millisecond)
	s.MaxOpenDelay = cmp.Or(s.MaxOpenDelay, max(2*time.Second, s.OpenDelay))
	s.MinMembers = cmp.Or(s.MinMembers, 1)
	s.MaxPayload = cmp.Or(s.MaxPayload, MaxPayload)
	s.KeepResults = cmp.Or(s.KeepResults, 16)
	return s
}

// Negative reports whether a time or a number of the spec is negative, and so cannot be written.
func (s *Spec) Negative() bool {
	return min(s.OpenDelay, s.MaxOpenDelay, s.ReplyTimeout) < 0 || min(s.MinMembers, s.MaxPayload, s.KeepResults) < 0
}

// Check returns what is wrong with the spec, "" if nothing is. The text is part of the state of a shard, which keeps
// answers, so every build must return the same text for the same spec: a count that was read above the range of int is
// negative here, and is compared and shown as the number that was read.
func (s *Spec) Check() string {
	switch {
	case s.OpenDelay > s.MaxOpenDelay || s.MaxOpenDelay > MaxOpenDelay:
		return fmt.Sprintf("the delay of an epoch is at most its longest, and that is at most %d ms",
			MaxOpenDelay.Milliseconds())
	case s.MinMembers < 1 || s.MinMembers > MaxMembers:
		return fmt.Sprintf("an epoch has at least 1 to %d members, not %d", MaxMembers, uint64(s.MinMembers))
	case s.ReplyTimeout > MaxTimeout:
		return fmt.Sprintf("a reply timeout is at most %d ms", MaxTimeout.Milliseconds())
	case s.OnTimeout >= onTimeouts:
		return "that is nothing to do on a timeout"
	case s.MaxPayload < 1 || s.MaxPayload > MaxPayload:
		return fmt.Sprintf("a payload has at most 1 to %d bytes, not %d", MaxPayload, uint64(s.MaxPayload))
	case s.KeepResults < MinKeep || s.KeepResults > MaxKeep:
		return fmt.Sprintf("a process keeps %d to %d results, not %d", MinKeep, MaxKeep, uint64(s.KeepResults))
	}
	return ""
}
