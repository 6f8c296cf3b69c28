package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/signalbox/signalbox/client/internal/cluster"
	"github.com/signalbox/signalbox/client/internal/conn"
	"github.com/signalbox/signalbox/client/internal/core"
	"github.com/signalbox/signalbox/client/internal/lifecycle"
	"github.com/signalbox/signalbox/client/internal/session"
	"github.com/signalbox/signalbox/client/internal/view"
)

// Client speaks to one cluster. Many goroutines may use a Client; a program needs only a single Client, shared by all
// of the program's sessions and watches.
type Client struct {
	heldClient
	config          config
	scope           *lifecycle.Scope
	cluster         *cluster.Cluster
	incarnations    *session.Group
	watches         *view.Watches
	limitMismatches limitMismatches

	mu       sync.Mutex // guards the fields below
	sessions map[*Session]struct{}
	nodes    map[string]*nodeID
}

// Open connects to a cluster. addresses names some hosts of the cluster, in any order, separated by commas: host:port.
// The host may be a DNS name, and a missing port is DefaultPort. A single host that answers is enough, because the
// client finds the rest of the hosts through it.
//
// If no host answers, the error says what was tried.
func Open(ctx context.Context, addresses string, options ...Option) (*Client, error) {
	config, err := newConfig(options)
	if err != nil {
		return nil, failed("open", "", err)
	}
	list := splitAddresses(addresses)
	if len(list) == 0 {
		return nil, failed("open", "", errors.New("no endpoint was given"))
	}
	c := &Client{
		config: config, scope: lifecycle.New(), sessions: make(map[*Session]struct{}), nodes: make(map[string]*nodeID),
	}
	c.heldClient = core.Hold[core.Client](clientCore{c})
	c.cluster = cluster.New(cluster.Config{
		Config: conn.Config{
			Scope: c.scope, Name: config.name, Version: version(), Dial: config.dial, Token: config.token,
			TLS: config.tls, Timeout: config.dialTimeout, KeepToken: config.keepToken,
		},
		Connections: config.connections, ConnectionChanged: c.config.connectionChanged,
		TokenExpiring: c.config.tokenExpiring,
	}, list)
	c.incarnations = session.NewGroup(c.scope, c.cluster, config.dialTimeout)
	c.watches = view.NewWatches(c.scope, c.cluster)
	if err := c.cluster.Open(ctx); err != nil {
		c.scope.End()
		return nil, failed("open", "", err)
	}
	return c, nil
}

func splitAddresses(addresses string) []string {
	var list []string
	for a := range strings.SplitSeq(addresses, ",") {
		if a = strings.TrimSpace(a); a != "" {
			list = append(list, a)
		}
	}
	return list
}

// Close ends the client. First the sessions are closed, so that everything they own is free at once, as far as hosts
// can be reached within a second; then the connections. Close waits until all work of the client is over, but does not
// wait for callbacks of the user.
func (c *Client) Close() error {
	c.mu.Lock()
	c.scope.Refuse()
	sessions := make([]*Session, 0, len(c.sessions))
	for s := range c.sessions {
		sessions = append(sessions, s)
	}
	c.mu.Unlock()
	ctx, cancel := context.WithTimeout(c.scope.Context(), farewellTime)
	defer cancel()
	errs := make(chan error, len(sessions))
	for _, s := range sessions {
		go func() { errs <- s.Close(ctx) }()
	}
	var first error
	left := 0
	for range sessions {
		if err := <-errs; err != nil {
			left++
			first = cmp.Or(first, err)
		}
	}
	c.scope.End()
	if left > 0 {
		return failed("close", "", fmt.Errorf("%d sessions could not be ended and will expire: %w", left, first))
	}
	return nil
}
