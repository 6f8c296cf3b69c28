package ydb

import (
	"time"

	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"

	"github.com/signalbox/signalbox/protocol"
)

// BePatient makes a gateway tolerate a machine that stands still for minutes: streams end only over unanswered pings,
// where these are heeded, and after a client's stall, where a stall time is given.
func (g *Gateway) BePatient(heedPings bool, stall time.Duration) {
	g.timing = timing{slack: 4 * time.Minute, leastPing: maxPongTime, unheeded: 1000, stall: time.Hour}
	if heedPings {
		g.timing.leastPing, g.timing.unheeded = minPingPeriod, 0
	}
	if stall > 0 {
		g.timing.leastPing, g.timing.stall = minPingPeriod, stall
	}
}

// Timeouts returns a session's timeout for a requested timeout, and the SDK's time of belief.
func Timeouts(asked time.Duration) (reliance, timeout time.Duration) {
	reliance = relianceOf(asked)
	return reliance, asYDB.timeoutOf(reliance)
}

// MaxAsked is the longest timeout for a request.
const MaxAsked = maxAsked

// StatusOf returns the SDKs' status for a host status, and its issue's message.
func StatusOf(s protocol.Status) (code Ydb.StatusIds_StatusCode, issue string) {
	var err error
	if s != protocol.StatusSuccess {
		err = &protocol.Error{Status: s, Message: "why"}
	}
	code, issues := statusOf(err)
	for _, i := range issues {
		issue += i.Message
	}
	return code, issue
}

// PingTimes returns, for a requested timeout, the interval of pings and the client's time to answer.
func PingTimes(asked time.Duration) (period, answer time.Duration) {
	t := asYDB.pingsOf(asked)
	return t.period, t.period * time.Duration(1+t.unheeded)
}

// Numbers are one stream's numbers.
type Numbers struct{ numbers }

// NewNumbers returns a stream's numbers with base 0.
func NewNumbers() *Numbers { return new(Numbers) }

// Next numbers a mutation and returns the receiver of its answer.
func (n *Numbers) Next() (number uint64, answered func(stale bool)) {
	m := n.next()
	return m.Sequence, func(stale bool) { n.answered(m.Sequence, stale) }
}
