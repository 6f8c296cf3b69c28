package connection

import (
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/handle"
	"github.com/signalbox/signalbox/server/pipeline"
	"github.com/signalbox/signalbox/server/replica"
)

// pings are a connection's unanswered pings.
type pings struct {
	waiting   []pipeline.Ticket
	answering bool // a goroutine answers the pings
}

var pong protocol.Pong

// ping confirms that the local host may still vouch for every attached session on the connection. Without a recent
// proof, the host first obtains one, and the answer waits.
func (c *Conn) ping(r *handle.Request) (handle.Reply, error) {
	if c.holder.MayPong(r.HeardAt) {
		return &pong, nil
	}
	return handle.Later(func(t handle.Ticket) {
		c.mu.Lock()
		p := &c.pings
		p.waiting = append(p.waiting, t.Ticket)
		first := !p.answering
		p.answering = true
		c.mu.Unlock()
		if first {
			c.answerPings()
		}
	}), nil
}

// answerPings retries until the host may vouch for the sessions, and then answers the waiting pings. While pings
// wait, exactly one answerPings runs per connection.
func (c *Conn) answerPings() {
	var homes []*replica.Replica
	for _, r := range c.set.Host.All() {
		if c.holder.In(r.Leases) {
			homes = append(homes, r)
		}
	}
	confirmAll(homes, func(led bool) {
		c.mu.Lock()
		waiting := c.pings.waiting // the pings that arrived before the barrier began
		c.pings.waiting = nil
		c.mu.Unlock()
		may := led && c.holder.MayPong(c.set.Clock())
		if may {
			for _, t := range waiting {
				c.Answer(t, &pong)
			}
			c.flush()
		}
		c.mu.Lock()
		p := &c.pings
		if !may {
			p.waiting = append(waiting, p.waiting...)
		}
		p.answering = len(p.waiting) > 0 && !c.closed
		again := p.answering
		c.mu.Unlock()
		if again {
			time.AfterFunc(replica.Tick, c.answerPings)
		}
	})
}

// confirmAll makes a barrier on every shard in turn.
func confirmAll(homes []*replica.Replica, done func(led bool)) {
	if len(homes) == 0 {
		done(true)
		return
	}
	homes[0].Confirm(func(_, led bool) {
		if led {
			confirmAll(homes[1:], done)
		} else {
			done(false)
		}
	})
}
