package process

import (
	"cmp"
	"fmt"
	"time"

	"github.com/signalbox/signalbox/protocol/field"
)

// Spec is an operator's configuration for a process. Times are counted in whole milliseconds, rounded up.
type Spec struct {
	// OpenDelay is how long membership must be stable before the next epoch opens, so many members starting together
	// cause one epoch; MaxOpenDelay is the maximum time for which an epoch waits for stability. 0 means 100 ms and 2 s.
	// If OpenDelay is one millisecond and MinMembers is above one, the last required member opens the epoch at once.
	OpenDelay    time.Duration
	MaxOpenDelay time.Duration
	// MinMembers is the minimum number of members in an epoch; 0 means one.
	MinMembers int
	// ReplyTimeout is how long a member may take to prepare, and to reply to a request; 0 is forever. OnTimeout
	// determines what happens to a late member.
	ReplyTimeout time.Duration
	OnTimeout    OnTimeout
	// MaxPayload is the maximum size of a request, a reply and a result, in bytes; KeepResults is how many results are
	// kept. 0 means 64 KiB and 16.
	MaxPayload  int `name:"max_payload_bytes"`
	KeepResults int
}

// Limits on process specs and messages. The limits are constants because every replica must agree on them. A command
// beyond a limit is refused before it has any effect.
const (
	// MaxMembers is the maximum number of members at once. A broadcast, and the opening of an epoch, touch all members
	// in one command, which may touch shard.MaxTouched holdings.
	MaxMembers    = 2000
	MaxPayload    = 64 << 10 // highest MaxPayload in a spec, in bytes
	MinKeep       = 1        // kept results
	MaxKeep       = 64
	MaxText       = field.MaxText // member name, author, reason, in bytes
	MaxFailure    = 1024          // why a member could not serve a request, in bytes
	MaxAttributes = 1024          // a member's attributes, in bytes
	MaxWord       = 64            // reason code, in bytes
	MaxNamed      = 8             // members named in a reason
	MaxReason     = 4096          // why a round is stalled, in bytes
	MaxOpenDelay  = 10 * time.Minute
	MaxTimeout    = 30 * 24 * time.Hour // to reply
)

// Fields implements field.Value. In the log OnTimeout follows the numbers.
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

// WithDefaults returns the spec with omitted values set to defaults. A host fills in the defaults before the spec is
// logged, so a later build's defaults do not change a logged spec.
func (s Spec) WithDefaults() Spec {
	s.OpenDelay = cmp.Or(s.OpenDelay, 100*time.Millisecond)
	s.MaxOpenDelay = cmp.Or(s.MaxOpenDelay, max(2*time.Second, s.OpenDelay))
	s.MinMembers = cmp.Or(s.MinMembers, 1)
	s.MaxPayload = cmp.Or(s.MaxPayload, MaxPayload)
	s.KeepResults = cmp.Or(s.KeepResults, 16)
	return s
}

// Negative reports whether a time or number in the spec is negative, and so cannot be encoded.
func (s *Spec) Negative() bool {
	return min(s.OpenDelay, s.MaxOpenDelay, s.ReplyTimeout) < 0 || min(s.MinMembers, s.MaxPayload, s.KeepResults) < 0
}

// Check returns what is wrong with the spec, "" if nothing is. The text is part of a shard's state, which keeps
// answers, so every build must return the same text for the same spec: a count above the range of int was read as a
// negative number, and is compared and shown as the number in the encoding.
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
