package grpcresolver

import (
	"context"
	"errors"
	"maps"
	"time"

	"google.golang.org/grpc/attributes"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/serviceconfig"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/discovery"
)

// askAgain is the pause before a list that could not be followed, because the node does not exist, is asked for again.
const askAgain = time.Second

// follower supplies one connection with the registered endpoints.
type follower struct {
	client     *client.Client
	path, name string
	to         resolver.ClientConn
	config     *serviceconfig.ParseResult
	stop       context.CancelFunc
	done       chan struct{} // closed when run has ended
	listed     bool          // the latest list has an endpoint
}

func (f *follower) run(ctx context.Context) {
	defer close(f.done)
	for {
		err := discovery.Follow(ctx, f.client, f.path, f.name, f.show)
		if ctx.Err() != nil {
			return
		}
		if errors.Is(err, client.ErrNodeNotFound) && f.listed {
			f.show(nil) // a missing node has no endpoints; without an update gRPC would keep the last list
		}
		f.to.ReportError(err)
		if errors.Is(err, client.ErrClosed) {
			return
		}
		select {
		case <-time.After(askAgain):
		case <-ctx.Done():
			return
		}
	}
}

// show gives the connection a list. gRPC refuses an empty list, and then calls fail or wait until the next list, so
// the error of a refusal needs no handling.
func (f *follower) show(list []discovery.Endpoint) {
	f.listed = len(list) > 0
	_ = f.to.UpdateState(state(list, f.config))
}

// state converts a list to gRPC's form. Duplicate addresses count once.
func state(list []discovery.Endpoint, config *serviceconfig.ParseResult) resolver.State {
	s := resolver.State{ServiceConfig: config, Addresses: []resolver.Address{}, Endpoints: []resolver.Endpoint{}}
	known := make(map[string]bool, len(list))
	for _, e := range list {
		if known[e.Address] {
			continue
		}
		known[e.Address] = true
		address := resolver.Address{Addr: e.Address}
		s.Addresses = append(s.Addresses, address)
		s.Endpoints = append(s.Endpoints, resolver.Endpoint{Addresses: []resolver.Address{address},
			Attributes: attributesOf(e)})
	}
	return s
}

// ResolveNow implements resolver.Resolver. A followed list is always the newest.
func (f *follower) ResolveNow(resolver.ResolveNowOptions) {}

// Close implements resolver.Resolver.
func (f *follower) Close() {
	f.stop()
	<-f.done
}

// endpointKey is the attribute key.
type endpointKey struct{}

// published is a registered endpoint, as an attribute: gRPC compares attributes.
type published struct{ discovery.Endpoint }

// Equal reports whether two registrations have equal endpoints. The registration's identity is ignored.
func (p published) Equal(other any) bool {
	o, ok := other.(published)
	return ok && p.Address == o.Address && maps.Equal(p.Metadata, o.Metadata)
}

func attributesOf(e discovery.Endpoint) *attributes.Attributes {
	return attributes.New(endpointKey{}, published{e})
}

// EndpointOf returns the registered endpoint and its metadata, for balancers. ok is false if the endpoint comes from
// another resolver.
func EndpointOf(e resolver.Endpoint) (endpoint discovery.Endpoint, ok bool) {
	p, ok := e.Attributes.Value(endpointKey{}).(published)
	return p.Endpoint, ok
}
