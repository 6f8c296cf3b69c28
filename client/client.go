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

// Client connects to one cluster. A Client is safe for concurrent use. A program needs a single Client, shared by all
// its sessions and watches.
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

// Open connects to a cluster. addresses is a comma-separated list of some hosts in any order, each as host:port. The
// host may be a DNS name, and the port defaults to DefaultPort. One reachable host is enough, because the client
// discovers the rest through it.
//
// If no host answers, the error lists all attempts.
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

// Close closes the client. It first closes all sessions, which frees everything they own if hosts are reachable within
// a second, and then the connections. Close waits for the client's work to finish, but not for user callbacks.
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
