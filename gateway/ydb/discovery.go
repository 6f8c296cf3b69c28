package ydb

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"net"
	"strconv"

	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Discovery"
	"google.golang.org/grpc/metadata"
)

// services are an endpoint's services, as named by SDKs.
var services = []string{"discovery", "coordination", "scheme", "auth"}

// ListEndpoints returns the gateways from the config, or else from the cluster's list, or else this gateway. A
// gateway's number does not depend on the rest of the list, because SDKs keep their connections by number.
func (g *Gateway) ListEndpoints(
	ctx context.Context, _ *Ydb_Discovery.ListEndpointsRequest,
) (*Ydb_Discovery.ListEndpointsResponse, error) {
	endpoints := g.config.Endpoints
	if len(endpoints) == 0 {
		endpoints = g.publication.known(g.draining.Load())
	}
	if len(endpoints) == 0 {
		endpoints = calledAt(ctx)
	}
	result := &Ydb_Discovery.ListEndpointsResult{}
	if g.publication != nil {
		result.SelfLocation = g.publication.own.Location
	}
	for _, e := range endpoints {
		result.Endpoints = append(result.Endpoints, &Ydb_Discovery.EndpointInfo{
			Address: e.Address, Port: e.Port, Ssl: g.config.Secure, Service: services, Location: e.Location,
			NodeId: numberOf(e),
		})
		result.SelfLocation = cmp.Or(result.SelfLocation, e.Location)
	}
	return &Ydb_Discovery.ListEndpointsResponse{Operation: operation(result, nil)}, nil
}

// numberOf returns a gateway's number, computed from its address; never 0.
func numberOf(e Endpoint) uint32 {
	h := fnv.New32a()
	_, _ = fmt.Fprintf(h, "%s %d", e.Address, e.Port) // never fails
	return max(h.Sum32(), 1)
}

// calledAt is the address called by the caller.
func calledAt(ctx context.Context) []Endpoint {
	md, _ := metadata.FromIncomingContext(ctx)
	for _, authority := range md.Get(":authority") {
		host, port, err := net.SplitHostPort(authority)
		if n, bad := strconv.ParseUint(port, 10, 16); err == nil && bad == nil {
			return []Endpoint{{Address: host, Port: uint32(n)}}
		}
	}
	return nil
}
