package server

import (
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/server/overview"
	"github.com/signalbox/signalbox/shard/meta"
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

// Found makes the records of all hosts that have registered, through the host that leads the meta shard.
func (h *Host) Found() {
	r := &meta.HostsFound{}
	for _, x := range h.meta.Machine.Hosts() {
		r.Founders = append(r.Founders, meta.Founder{ID: x.ID})
	}
	done := make(chan struct{})
	h.meta.Propose(meta.NewCommand(r, meta.Origin{}), func(*meta.Effect, protocol.Status) { close(done) })
	<-done
}

// GovernBy has questions about what is changed among the hosts answered by g.
func (h *Host) GovernBy(g overview.Governor) { h.governor = g }
