package process

import "fmt"

// OnTimeout says what becomes of members that have not answered within the reply timeout.
type OnTimeout uint8

// They are waited for and named, they are put out of the process, or their exchange ends without them.
const (
	TimeoutWait OnTimeout = iota
	TimeoutKick
	TimeoutFail
	timeouts
)

var timeoutNames = [timeouts]string{TimeoutWait: "wait", TimeoutKick: "kick", TimeoutFail: "fail"}

// String returns the setting as people write it.
func (on OnTimeout) String() string { return timeoutNames[on] }

// Spec is what an operator says of a process. Times are in milliseconds.
type Spec struct {
	// OpenDelay is for how long nothing has changed before the next epoch opens, MaxOpenDelay how long it waits for
	// that at the most.
	OpenDelay, MaxOpenDelay uint64
	// MinMembers is how many members an epoch has at the least.
	MinMembers uint64
	// ReplyTimeout is how long a member has to confirm that it is prepared, and to reply; 0 is for ever.
	ReplyTimeout uint64
	OnTimeout    OnTimeout
	// Payload is the longest payload of a request, a reply and a result, in bytes.
	Payload uint64
	// KeepResults is how many results are kept.
	KeepResults uint64
}

// DefaultSpec is that of a process that members make by joining.
func DefaultSpec() Spec {
	return Spec{OpenDelay: 100, MaxOpenDelay: 2000, MinMembers: 1, Payload: MaxPayload, KeepResults: 16}
}

// Check returns what is wrong with the spec, "" where it is sound.
func (s *Spec) Check() string {
	switch {
	case s.OpenDelay > s.MaxOpenDelay || s.MaxOpenDelay > MaxOpenDelay:
		return fmt.Sprintf("the delay of an epoch is at most its longest, and that is at most %d ms", MaxOpenDelay)
	case s.MinMembers == 0 || s.MinMembers > MaxMembers:
		return fmt.Sprintf("an epoch has at least 1 to %d members, not %d", MaxMembers, s.MinMembers)
	case s.ReplyTimeout > MaxTimeout:
		return fmt.Sprintf("a reply timeout is at most %d ms", uint64(MaxTimeout))
	case s.OnTimeout >= timeouts:
		return "that is nothing to do on a timeout"
	case s.Payload == 0 || s.Payload > MaxPayload:
		return fmt.Sprintf("a payload has at most 1 to %d bytes, not %d", MaxPayload, s.Payload)
	case s.KeepResults < MinKeep || s.KeepResults > MaxKeep:
		return fmt.Sprintf("a process keeps %d to %d results, not %d", MinKeep, MaxKeep, s.KeepResults)
	}
	return ""
}
