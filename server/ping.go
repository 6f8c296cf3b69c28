package server

import (
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/replica"
)

// ping answers that this host may still speak for every attached session of the connection. Without a recent proof
// the host first makes sure, and the answer waits.
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

// answerPings makes sure that this host may speak for the sessions, again and again until it may, and then answers
// the waiting pings. While pings wait, exactly one answerPings is under way for the connection.
func (c *conn) answerPings() {
	c.confirmAll(c.homes(), func(led bool) {
		c.mu.Lock()
		pings := c.pings // the pings from before the time of the question
		c.pings = nil
		c.mu.Unlock()
		may := led && c.holder.MayPong(c.host.config.Clock())
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

// confirmAll makes a barrier on each of the shards, one by one.
func (c *conn) confirmAll(homes []*replica.Replica, done func(led bool)) {
	if len(homes) == 0 {
		done(true)
		return
	}
	homes[0].Confirm(func(_, led bool) {
		if led {
			c.confirmAll(homes[1:], done)
		} else {
			done(false)
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
