package server

import (
	"github.com/signalbox/signalbox/protocol"
)

// ping answers that this host may still speak for every session that is attached over the connection.
// Where it has not made sure lately it does so first, and says nothing if it cannot.
func (c *conn) ping(id uint64) {
	if c.holder.MayPong(c.heardAt) {
		c.answer(id, &pong)
		return
	}
	c.confirmAll(c.homes(), func(led bool) {
		if !led || !c.holder.MayPong(c.host.now()) {
			c.inFlight.Add(-1)
			return
		}
		c.answer(id, &pong)
		c.flush()
	})
}

var pong protocol.Pong

// confirmAll makes a barrier on each of the shards, one after the other.
func (c *conn) confirmAll(homes []*replica, done func(led bool)) {
	if len(homes) == 0 {
		done(true)
		return
	}
	homes[0].fresh.confirm(func(_, led bool) {
		switch {
		case !led:
			done(false)
		default:
			c.confirmAll(homes[1:], done)
		}
	})
}

// homes returns the home shards of the sessions that are attached over the connection.
func (c *conn) homes() []*replica {
	c.mu.Lock()
	defer c.mu.Unlock()
	var homes []*replica
	for _, h := range c.attached {
		if h.sessions > 0 {
			homes = append(homes, h.home)
		}
	}
	return homes
}
