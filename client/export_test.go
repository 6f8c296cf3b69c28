package client

import (
	"context"

	"github.com/signalbox/signalbox/client/internal/cluster"
	"github.com/signalbox/signalbox/protocol"
)

// Ask carries out any request, at any host.
func (c *Client) Ask(ctx context.Context, m protocol.RequestMessage) error {
	return c.cluster.Do(ctx, cluster.AnyHost, m, func(*protocol.Answer) {})
}

// KeepToken prevents callers from reading the answers to their own requests.
func KeepToken() Option {
	return func(c *config) { c.keepToken = true }
}

// Lent returns how often callers have read the answers to their own requests.
func (c *Client) Lent() (n uint64) {
	for _, h := range c.cluster.Hosts() {
		if to := h.Up(); to != nil {
			n += to.Lent()
		}
	}
	return n
}
