package ydb

import (
	"time"

	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"

	"github.com/signalbox/signalbox/protocol"
)

// BePatient makes a gateway bear with a machine that stands still for minutes: no stream ends because of that, but
// over pings without an answer where these are heeded.
func (g *Gateway) BePatient(heedPings bool) {
	g.timing = timing{slack: 4 * time.Minute, leastPing: maxPingPeriod, unheeded: 1000}
	if heedPings {
		g.timing.leastPing, g.timing.unheeded = minPingPeriod, 0
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

// PingPeriod returns how often a session is pinged that was asked for with a timeout.
func PingPeriod(asked time.Duration) time.Duration { return asYDB.periodOf(asked) }
