package client

import (
	"context"

	"github.com/signalbox/signalbox/protocol"
)

// Ask carries out any request, at any host.
func (c *Client) Ask(ctx context.Context, m protocol.RequestMessage) error {
	return c.do(ctx, anyHost, m, func(*link, *protocol.Answer) {})
}

// Borrowed returns how often callers have read the answers of their requests by themselves.
func (c *Client) Borrowed() (n uint64) {
	for _, h := range c.cluster.all() {
		if l := h.live(); l != nil {
			l.mu.Lock()
			n += l.borrowed
			l.mu.Unlock()
		}
	}
	return n
}
