package server

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	vm "github.com/VictoriaMetrics/metrics"

	"github.com/signalbox/signalbox/protocol"
)

// cutReason is why the host ends the connection of a client.
type cutReason uint8

const (
	cutSlow         cutReason = iota // too much waits for the client to read
	cutSilent                        // the client was silent for too long
	cutNoHello                       // the client sent no HELLO
	cutUnauthorized                  // the client's token is unknown, or no longer valid
	cutUnsupported                   // no version of the protocol in common
	cutPartial                       // too much is held of frames that have arrived in part
	cutLagging                       // the host cannot make sure of the client's rights
	cutBadRequest                    // the client does not speak the protocol
	cutReasons
)

var cutNames = [cutReasons]string{"slow_reader", "heartbeat_timeout", "handshake_timeout", "unauthorized",
	"unsupported", "input_buffer_full", "access_rules_outdated", "bad_request"}

// cutLines is how many ended connections are logged in one second.
const cutLines = 5

// cuts counts the connections that the host ends, and logs them. Beyond a bound no lines are logged, so that hostile
// clients cannot fill a disk with lines.
type cuts struct {
	host  *Host
	total [cutReasons]*vm.Counter
	lines lineBudget
}

// lineBudget bounds the lines of the log that clients can cause.
type lineBudget struct {
	mu       sync.Mutex // guards the fields below
	since    time.Time  // the beginning of the second in which lines are counted
	lines    int
	unlogged int // since the latest line
}

func (cu *cuts) init(h *Host, set *vm.Set) {
	cu.host = h
	for i, name := range cutNames {
		cu.total[i] = set.NewCounter(fmt.Sprintf(`signalbox_connections_closed_total{reason=%q}`, name))
	}
}

// note records a connection that the host ends.
func (cu *cuts) note(c *conn, reason cutReason, why string) {
	cu.total[reason].Inc()
	log, unlogged := cu.lines.line(cu.host.config.Clock())
	if !log {
		return
	}
	level := slog.LevelWarn
	if reason == cutSilent {
		level = slog.LevelInfo // clients and their machines come and go
	}
	details := []any{"reason", cutNames[reason], "why", why, "remote", c.peer.RemoteAddr()}
	if c.welcomed.Load() && c.name != "" {
		details = append(details, "client", c.name)
	}
	if unlogged > 0 {
		details = append(details, "unlogged", unlogged)
	}
	cu.host.log.Log(context.Background(), level, "ended the connection of a client", details...)
}

// line reports whether there may be a line in the log now, and how many lines were left out since the last line.
func (l *lineBudget) line(now time.Time) (log bool, unlogged int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now.Sub(l.since) >= time.Second {
		l.since, l.lines = now, 0
	}
	if l.lines >= cutLines {
		l.unlogged++
		return false, 0
	}
	l.lines++
	unlogged, l.unlogged = l.unlogged, 0
	return true, unlogged
}

// closeWithReason sends the client why the host ends its connection; the caller then closes the connection. It
// returns false if the reason was sent already.
func (c *conn) closeWithReason(reason cutReason, s protocol.Status, why string) bool {
	c.mu.Lock()
	first := !c.closed && !c.cut
	if first {
		c.cut = true
		c.encoder.Push(c.buffer(), 0, &protocol.GoingAway{Result: protocol.Result{Status: s, Message: clip(why)}})
		c.send()
	}
	c.mu.Unlock()
	if first {
		c.host.cuts.note(c, reason, why)
	}
	return first
}

// cutOff sends the client the reason, and closes its connection.
func (c *conn) cutOff(reason cutReason, s protocol.Status, why string) {
	if c.closeWithReason(reason, s, why) {
		c.peer.Close()
	}
}
