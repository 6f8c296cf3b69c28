package server

import (
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/replica"
)

// ping answers that this host may still speak for every session that is attached over the connection.
// Where it has not made sure lately it does so first, and the answer waits until it has.
func (c *conn) ping(id uint64) {
	if c.holder.MayPong(c.heardAt) {
		c.Answer(id, &pong)
		return
	}
	c.mu.Lock()
	c.pings = append(c.pings, id)
	first := !c.answeringPings
	c.answeringPings = true
	c.mu.Unlock()
	if first {
		c.answerPings()
	}
}

// answerPings makes sure that this host may speak for the sessions, again and again until it may, and answers the
// pings that wait for that. There is one of it for a connection, while any wait.
func (c *conn) answerPings() {
	c.confirmAll(c.homes(), func(led bool) {
		c.mu.Lock()
		pings := c.pings // those that were read before the time that is asked about
		c.pings = nil
		c.mu.Unlock()
		may := led && c.holder.MayPong(c.host.now())
		if may {
			for _, id := range pings {
				c.Answer(id, &pong)
			}
			c.flush()
		}
		c.mu.Lock()
		if !may {
			c.pings = append(pings, c.pings...)
		}
		c.answeringPings = len(c.pings) > 0 && !c.closed
		again := c.answeringPings
		c.mu.Unlock()
		if again {
			time.AfterFunc(replica.Tick, c.answerPings)
		}
	})
}

var pong protocol.Pong

// confirmAll makes a barrier on each of the shards, one after the other.
func (c *conn) confirmAll(homes []*replica.Replica, done func(led bool)) {
	if len(homes) == 0 {
		done(true)
		return
	}
	homes[0].Confirm(func(_, led bool) {
		switch {
		case !led:
			done(false)
		default:
			c.confirmAll(homes[1:], done)
		}
	})
}

// homes returns the home shards of the sessions that are attached over the connection.
func (c *conn) homes() []*replica.Replica {
	c.mu.Lock()
	defer c.mu.Unlock()
	var homes []*replica.Replica
	for _, h := range c.attached {
		if h.sessions > 0 {
			homes = append(homes, h.home)
		}
	}
	return homes
}
