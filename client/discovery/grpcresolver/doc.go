// Package grpcresolver lets gRPC clients call services that are registered with package discovery: a target names a
// node and a list of endpoints in the node, and the connections follow the endpoints as they come and go.
//
//	c, err := client.Open(ctx, "10.0.0.1:7420,10.0.0.2:7420,10.0.0.3:7420")
//	...
//	conn, err := grpc.NewClient("signalbox:///prod/jobs/endpoints",
//		grpc.WithResolvers(grpcresolver.New(c, grpcresolver.RoundRobin())),
//		grpc.WithTransportCredentials(credentials))
//
// The service registers itself, in a session that is renewed after an expiry:
//
//	s, err := c.Session(ctx, "/prod/jobs", client.Recreate())
//	...
//	r, err := discovery.Register(ctx, s, "endpoints", discovery.Endpoint{Address: listener.Addr().String()})
//	...
//	defer r.Close(ctx) // before grpc.Server.GracefulStop, so that callers go elsewhere first
//
// The package is a module of its own, so that programs without gRPC do not depend on gRPC:
//
//	go get github.com/signalbox/signalbox/client/discovery/grpcresolver
//
// # Targets
//
// signalbox:///prod/jobs/endpoints is the list "endpoints" in the node /prod/jobs: the last part is the name,
// everything before the name is the path. A slash in the name is written as %2F. The authority, between the second and
// the third slash, is empty, because the client of the resolver knows the cluster.
//
// # Which endpoint is called
//
// The balancer of gRPC decides: its default, pick_first, keeps to one address as long as the address can be reached;
// RoundRobin spreads the calls. A balancer that looks at metadata gets the metadata by EndpointOf.
//
// # Caveats
//
// While no endpoint is registered calls fail at once with UNAVAILABLE, unless they are made with grpc.WaitForReady.
// Calls fail in the same way while the node does not exist; the resolver asks for the node again every second. A
// process that dies is listed until its session's timeout has passed: gRPC notices the lost connection sooner, and
// goes elsewhere.
package grpcresolver
