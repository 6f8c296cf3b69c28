package connection

import (
	"context"
	"fmt"
	"log/slog"

	vm "github.com/VictoriaMetrics/metrics"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/audit"
)

// cutReason is the reason why the host disconnects a client.
type cutReason uint8

const (
	cutSlow         cutReason = iota // too many bytes are unsent
	cutSilent                        // the client missed its heartbeats
	cutNoHello                       // the client sent no HELLO
	cutUnauthorized                  // the client's token is unknown or no longer valid
	cutUnsupported                   // no common protocol version
	cutPartial                       // too many bytes are held for partially received frames
	cutLagging                       // the host cannot confirm the client's rights
	cutBadRequest                    // the client violates the protocol
	cutReasons
)

var cutNames = [cutReasons]string{"slow_reader", "heartbeat_timeout", "handshake_timeout", "unauthorized",
	"unsupported", "input_buffer_full", "access_rules_outdated", "bad_request"}

// cuts counts and logs disconnects by the host. The log rate is limited, so that hostile clients cannot fill a disk
// with log lines.
type cuts struct {
	total [cutReasons]*vm.Counter
	lines audit.Budget
}

func (cu *cuts) init(set *vm.Set) {
	for i, name := range cutNames {
		cu.total[i] = set.NewCounter(fmt.Sprintf(`signalbox_connections_closed_total{reason=%q}`, name))
	}
}

// noteCut records that the host disconnects the client.
func (c *Conn) noteCut(reason cutReason, why string) {
	cu := &c.set.cuts
	cu.total[reason].Inc()
	log, unlogged := cu.lines.Line(c.set.Clock())
	if !log {
		return
	}
	level := slog.LevelWarn
	if reason == cutSilent {
		level = slog.LevelInfo // clients come and go
	}
	details := []any{"reason", cutNames[reason], "why", why, "remote_address", c.peer.RemoteAddr()}
	if by := c.Caller(); by != nil && by.Name != "" {
		details = append(details, "client", by.Name)
	}
	if unlogged > 0 {
		details = append(details, "unlogged", unlogged)
	}
	c.set.Log.Log(context.Background(), level, "closed a client connection", details...)
}

// closeWithReason sends the client the disconnect reason; the caller then closes the connection. closeWithReason
// returns false if a reason was already sent.
func (c *Conn) closeWithReason(reason cutReason, s protocol.Status, why string) bool {
	c.mu.Lock()
	first := !c.closed && !c.cut
	if first {
		c.cut = true
		result := protocol.Result{Status: s, Message: clip(why)}
		c.out.encoder.Push(c.out.buffer(), 0, &protocol.GoingAway{Result: result})
		c.peer.Send(c.takeOutput())
	}
	c.mu.Unlock()
	if first {
		c.noteCut(reason, why)
	}
	return first
}

// cutOff sends the client the disconnect reason and closes the connection.
func (c *Conn) cutOff(reason cutReason, s protocol.Status, why string) {
	if c.closeWithReason(reason, s, why) {
		c.peer.Close()
	}
}
