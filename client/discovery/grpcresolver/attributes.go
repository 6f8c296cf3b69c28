package grpcresolver

import (
	"maps"

	"google.golang.org/grpc/attributes"
	"google.golang.org/grpc/resolver"

	"github.com/signalbox/signalbox/client/discovery"
)

// endpointKey is that of the attribute.
type endpointKey struct{}

// published is what was registered, as an attribute: gRPC compares attributes.
type published struct{ discovery.Endpoint }

// Equal tells whether two registrations say the same. Which registration it is makes no difference.
func (p published) Equal(other any) bool {
	o, ok := other.(published)
	return ok && p.Address == o.Address && maps.Equal(p.Metadata, o.Metadata)
}

func attributesOf(e discovery.Endpoint) *attributes.Attributes {
	return attributes.New(endpointKey{}, published{e})
}

// EndpointOf returns what was registered, with its metadata, for balancers. ok is false where this resolver has
// not made the endpoint.
func EndpointOf(e resolver.Endpoint) (endpoint discovery.Endpoint, ok bool) {
	p, ok := e.Attributes.Value(endpointKey{}).(published)
	return p.Endpoint, ok
}
