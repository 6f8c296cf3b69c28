package process

import (
	"time"

	"github.com/signalbox/signalbox/client/internal/conn"
	"github.com/signalbox/signalbox/client/internal/failure"
	"github.com/signalbox/signalbox/client/internal/object"
	"github.com/signalbox/signalbox/protocol"
)

// Spec is what an operator says of a process. Times are counted in whole milliseconds, rounded up.
type Spec struct {
	// OpenDelay is for how long no member has come or gone before the next epoch opens, so that many that start at a
	// time cause one; MaxOpenDelay is how long that is waited for at the most. 0 stands for 100 ms and 2 s.
	OpenDelay    time.Duration
	MaxOpenDelay time.Duration
	// MinMembers is how many members an epoch has at the least; 0 stands for one.
	MinMembers int
	// ReplyTimeout is how long a member has to prepare, and to reply to a request; 0 is for ever. OnTimeout says what
	// becomes of one that has not.
	ReplyTimeout time.Duration
	OnTimeout    OnTimeout
	// MaxPayload is how many bytes a request, a reply and a result may have, KeepResults how many results are kept. 0
	// stands for 64 KiB and 16.
	MaxPayload  int
	KeepResults int
}

// OnTimeout says what becomes of a member that has not answered in time.
type OnTimeout uint8

// It is waited for and named by Why; it is kicked, and another epoch opens; or the request ends without it, with a
// *Late.
const (
	TimeoutWait = OnTimeout(protocol.TimeoutWait)
	TimeoutKick = OnTimeout(protocol.TimeoutKick)
	TimeoutFail = OnTimeout(protocol.TimeoutFail)
)

// String returns it in a word.
func (o OnTimeout) String() string { return object.InWords(protocol.OnTimeout(o).String()) }

// check refuses what would be another number on its way to a host.
func (s *Spec) check() error {
	if min(s.OpenDelay, s.MaxOpenDelay, s.ReplyTimeout) < 0 || min(s.MinMembers, s.MaxPayload, s.KeepResults) < 0 {
		return failure.BadRequest("a time or a number of the spec is negative")
	}
	return nil
}

func (s *Spec) message() protocol.ProcessSpec {
	return protocol.ProcessSpec{
		OpenMillis: object.Millis(s.OpenDelay), OpenMostMillis: object.Millis(s.MaxOpenDelay),
		MinMembers: uint64(s.MinMembers), ReplyMillis: object.Millis(s.ReplyTimeout),
		OnTimeout: protocol.OnTimeout(s.OnTimeout), PayloadBytes: uint64(s.MaxPayload),
		KeepResults: uint64(s.KeepResults),
	}
}

func specOf(m *protocol.ProcessSpec) Spec {
	return Spec{
		OpenDelay: conn.Millis(m.OpenMillis), MaxOpenDelay: conn.Millis(m.OpenMostMillis),
		MinMembers: int(m.MinMembers), ReplyTimeout: conn.Millis(m.ReplyMillis), OnTimeout: OnTimeout(m.OnTimeout),
		MaxPayload: int(m.PayloadBytes), KeepResults: int(m.KeepResults),
	}
}
