package server

import (
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/level"
)

// Broadcast pushes a message to every client that has said its HELLO.
func (h *Host) Broadcast(m protocol.PushMessage) {
	h.eachConn(func(c *conn) {
		if c.welcomed.Load() {
			c.Push(0, m)
			c.flush()
		}
	})
}

// AboveLevel is the answer to a request that needs a level which a shard has not reached.
func (h *Host) AboveLevel(needs level.Level) *protocol.Result { return h.aboveLevel(needs) }

// AfterBind has a host call f between the binding of a session to a connection and the look whether it still lives.
func (h *Host) AfterBind(f func()) { h.set.AfterBind = f }

// Label is how the value of a label is written in /metrics.
var Label = label
