package grpcresolver

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	"google.golang.org/grpc/resolver"

	"github.com/signalbox/signalbox/client"
)

// Scheme is the target scheme.
const Scheme = "signalbox"

// Option adjusts a resolver.
type Option func(*builder)

// ServiceConfig gives all connections a service config, as JSON. A config from grpc.WithDefaultServiceConfig is used
// only for connections without ServiceConfig.
func ServiceConfig(json string) Option {
	return func(b *builder) { b.serviceConfig = json }
}

// RoundRobin spreads the calls over all endpoints.
func RoundRobin() Option { return ServiceConfig(`{"loadBalancingConfig": [{"round_robin": {}}]}`) }

// New returns a resolver for grpc.WithResolvers. The caller still owns the client and must close the client after the
// connections.
func New(c *client.Client, options ...Option) resolver.Builder {
	b := &builder{client: c}
	for _, o := range options {
		o(b)
	}
	return b
}

type builder struct {
	client        *client.Client
	serviceConfig string
}

// Scheme implements resolver.Builder.
func (b *builder) Scheme() string { return Scheme }

// Build implements resolver.Builder: it starts to follow a target's endpoints.
func (b *builder) Build(
	target resolver.Target, to resolver.ClientConn, _ resolver.BuildOptions,
) (resolver.Resolver, error) {
	path, name, err := parse(target)
	if err != nil {
		return nil, err
	}
	f := &follower{client: b.client, path: path, name: name, to: to, done: make(chan struct{})}
	if b.serviceConfig != "" {
		f.config = to.ParseServiceConfig(b.serviceConfig)
		if f.config.Err != nil {
			return nil, fmt.Errorf("grpcresolver: invalid service config: %w", f.config.Err)
		}
	}
	var ctx context.Context
	ctx, f.stop = context.WithCancel(context.Background())
	go f.run(ctx)
	return f, nil
}

// parse takes a target apart.
func parse(target resolver.Target) (path, name string, err error) {
	whole := target.URL.EscapedPath()
	bad := func(why string) error {
		return fmt.Errorf("grpcresolver: invalid target %q: %s; use the form %s:///prod/jobs/endpoints",
			target.URL.String(), why, Scheme)
	}
	if target.URL.Host != "" {
		return "", "", bad("the authority must be empty")
	}
	i := strings.LastIndexByte(whole, '/')
	if i <= 0 || i == len(whole)-1 {
		return "", "", bad("the list in a node is missing")
	}
	if path, err = url.PathUnescape(whole[:i]); err == nil {
		name, err = url.PathUnescape(whole[i+1:])
	}
	if err != nil {
		return "", "", bad(err.Error())
	}
	return path, name, nil
}
