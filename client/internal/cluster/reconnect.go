package cluster

import (
	"time"

	"github.com/signalbox/signalbox/client/internal/retry"
)

// reconnecting is the delay before an idle client without connections establishes a new one.
var reconnecting = retry.Backoff{First: time.Second, Most: 10 * time.Second}

// reconnect makes a connection in the background after the last connection was lost. Over a connection the client
// hears of hosts that come and go; after a long time without a connection the known hosts may all be gone.
func (c *Cluster) reconnect() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.reconnects && !c.connected() {
		c.reconnects = c.scope.Go(c.untilConnected)
	}
}

// connected reports whether any host is connected. The lock is held.
func (c *Cluster) connected() bool {
	for _, h := range c.hosts {
		if h.Up() != nil {
			return true
		}
	}
	return false
}

// untilConnected asks all hosts for the routing, again and again, until a host answers.
func (c *Cluster) untilConnected() {
	ctx := c.scope.Context()
	for failures := 0; ; failures++ {
		if retry.Wait(ctx, reconnecting.Pause(failures)) != nil {
			return
		}
		c.mu.Lock()
		over := c.connected() || c.scope.Usable() != nil
		c.reconnects = !over
		c.mu.Unlock()
		if over {
			return
		}
		_ = c.refresh(ctx, nil, nil) // the next look shows whether a connection was made
	}
}
