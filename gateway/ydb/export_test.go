package ydb

import (
	"time"

	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"

	"github.com/signalbox/signalbox/protocol"
)

// BePatient makes a gateway bear with a machine that stands still for minutes: no stream ends because of that, but
// over pings without an answer where these are heeded, and after a stall of its client where one is given.
func (g *Gateway) BePatient(heedPings bool, stall time.Duration) {
	g.timing = timing{slack: 4 * time.Minute, leastPing: maxPongTime, unheeded: 1000, stall: time.Hour}
	if heedPings {
		g.timing.leastPing, g.timing.unheeded = minPingPeriod, 0
	}
	if stall > 0 {
		g.timing.leastPing, g.timing.stall = minPingPeriod, stall
	}
}

// Timeouts returns what a session is given that is asked for with a timeout, and how long its SDK may believe.
func Timeouts(asked time.Duration) (reliance, timeout time.Duration) {
	reliance = relianceOf(asked)
	return reliance, asYDB.timeoutOf(reliance)
}

// MaxAsked is the longest timeout that can be asked for.
const MaxAsked = maxAsked

// StatusOf returns what SDKs are answered for a status of hosts, and the message of its issue.
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

// PingTimes returns how often a session is pinged that was asked for with a timeout, and how long its client may take
// to answer.
func PingTimes(asked time.Duration) (period, answer time.Duration) {
	t := asYDB.pingsOf(asked)
	return t.period, t.period * time.Duration(1+t.unheeded)
}

// Numbers are those of one stream.
type Numbers struct{ numbers }

// NewNumbers returns the numbers of a stream whose base is 0.
func NewNumbers() *Numbers { return new(Numbers) }

// Next numbers a mutation, and returns what takes its answer.
func (n *Numbers) Next() (number uint64, answered func(stale bool)) {
	m := n.next()
	return m.Sequence, func(stale bool) { n.answered(m.Sequence, stale) }
}
