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
	cutSilent                        // nothing was heard of it for too long
	cutNoHello                       // it did not say who it is
	cutUnauthorized                  // its token is not known, or not any more
	cutUnsupported                   // it speaks no version of the protocol that this host does
	cutPartial                       // too much is held of frames that have arrived in part
	cutLagging                       // the host cannot make sure who may do what
	cutBadRequest                    // it does not speak the protocol
	cutReasons
)

var cutNames = [cutReasons]string{"SLOW", "SILENT", "NO_HELLO", "UNAUTHORIZED", "UNSUPPORTED", "PARTIAL", "LAGGING",
	"BAD_REQUEST"}

// cutLines is how many connections that the host ends are logged in one second.
const cutLines = 5

// cuts counts the connections that the host ends, and logs them: not all where they are many, so that hostile
// clients cannot fill a disk with lines.
type cuts struct {
	host  *Host
	total [cutReasons]*vm.Counter
	lines lineBudget
}

// lineBudget bounds the lines of the log that clients can bring about.
type lineBudget struct {
	mu       sync.Mutex // guards what follows
	since    time.Time  // when the second began that lines are counted in
	lines    int
	unlogged int // since the latest line
}

func (cu *cuts) init(h *Host, set *vm.Set) {
	cu.host = h
	for i, name := range cutNames {
		cu.total[i] = set.NewCounter(fmt.Sprintf(`signalbox_connections_cut_total{reason=%q}`, name))
	}
}

// note records a connection that the host ends.
func (cu *cuts) note(c *conn, reason cutReason, why string) {
	cu.total[reason].Inc()
	log, unlogged := cu.lines.line(cu.host.now())
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

// line reports whether there may be a line in the log now, and how many there were not since the one before.
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

// closeWithReason sends the client why the host ends its connection, which the caller then closes. It returns false
// where that has been done already.
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
