package ydb

import (
	"context"
	"net"
	"strconv"

	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Discovery"
	"google.golang.org/grpc/metadata"
)

// services are those that an endpoint has, as SDKs name them.
var services = []string{"discovery", "coordination", "scheme", "auth"}

// ListEndpoints names the gateways.
func (g *Gateway) ListEndpoints(
	ctx context.Context, _ *Ydb_Discovery.ListEndpointsRequest,
) (*Ydb_Discovery.ListEndpointsResponse, error) {
	endpoints := g.config.Endpoints
	if len(endpoints) == 0 {
		endpoints = calledAt(ctx)
	}
	result := &Ydb_Discovery.ListEndpointsResult{}
	for i, e := range endpoints {
		result.Endpoints = append(result.Endpoints, &Ydb_Discovery.EndpointInfo{
			Address: e.Address, Port: e.Port, Ssl: g.config.Secure, Service: services, Location: e.Location,
			NodeId: uint32(i + 1),
		})
		if result.SelfLocation == "" {
			result.SelfLocation = e.Location
		}
	}
	return &Ydb_Discovery.ListEndpointsResponse{Operation: operation(result, nil)}, nil
}

// calledAt is the address that the caller has called.
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
