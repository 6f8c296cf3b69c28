// Package grpcresolver lets gRPC clients call services registered with package discovery. A target names a node and an
// endpoint list in the node, and connections follow the endpoints as the list changes.
//
//	c, err := client.Open(ctx, "10.0.0.1:7420,10.0.0.2:7420,10.0.0.3:7420")
//	...
//	conn, err := grpc.NewClient("signalbox:///prod/jobs/endpoints",
//		grpc.WithResolvers(grpcresolver.New(c, grpcresolver.RoundRobin())),
//		grpc.WithTransportCredentials(credentials))
//
// The service registers itself in a session that is recreated after an expiry:
//
//	s, err := c.Session(ctx, "/prod/jobs", client.Recreate())
//	...
//	r, err := discovery.Register(ctx, s, "endpoints", discovery.Endpoint{Address: listener.Addr().String()})
//	...
//	defer r.Close(ctx) // before grpc.Server.GracefulStop, so that callers go elsewhere first
//
// The package is a separate module, so programs without gRPC do not depend on gRPC.
//
// # Targets
//
// signalbox:///prod/jobs/endpoints is the list "endpoints" in the node /prod/jobs: the last segment is the name, and
// everything before is the path. Write a slash in the name as %2F. The authority, between the second and the third
// slash, is empty, because the resolver's client knows the cluster.
//
// # Load balancing
//
// The gRPC balancer chooses the endpoint. The default, pick_first, uses a single address while the address is
// reachable; RoundRobin spreads the calls. A custom balancer can read metadata with EndpointOf.
//
// # Caveats
//
// While no endpoint is registered or the node does not exist, calls fail immediately with UNAVAILABLE unless
// grpc.WaitForReady is set. The resolver looks for a missing node every second. A failed process stays listed until its
// session times out, but gRPC notices the lost connection sooner and uses another endpoint.
package grpcresolver
