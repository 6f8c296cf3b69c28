// Package grpcresolver lets gRPC clients call what is registered with package discovery: a target names a node
// and a list of endpoints in it, and the connections follow who comes and who goes.
//
//	c, err := client.Open(ctx, "10.0.0.1:7420,10.0.0.2:7420,10.0.0.3:7420")
//	...
//	conn, err := grpc.NewClient("signalbox:///prod/jobs/endpoints",
//		grpc.WithResolvers(grpcresolver.New(c, grpcresolver.RoundRobin())),
//		grpc.WithTransportCredentials(credentials))
//
// The service registers itself, in a session that is renewed where it should expire:
//
//	s, err := c.Session(ctx, "/prod/jobs", client.Renew())
//	...
//	r, err := discovery.Register(ctx, s, "endpoints", discovery.Endpoint{Address: listener.Addr().String()})
//	...
//	defer r.Close(ctx) // before grpc.Server.GracefulStop, so that callers go elsewhere first
//
// It is a module of its own, so that programs without gRPC do not depend on it:
//
//	go get github.com/signalbox/signalbox/client/discovery/grpcresolver
//
// # Targets
//
// signalbox:///prod/jobs/endpoints is the list "endpoints" in the node /prod/jobs: the last part is the name, all
// before it the path. A slash in the name is written as %2F. The authority, between the second and the third
// slash, is empty: the client that the resolver was made with knows the cluster.
//
// # Which endpoint is called
//
// That is up to gRPC's balancer: its default, pick_first, keeps to one address as long as it can be reached;
// RoundRobin spreads the calls. Balancers that look at metadata find it with EndpointOf.
//
// # Caveats
//
// While no endpoint is registered calls fail at once with UNAVAILABLE, unless they are made with grpc.WaitForReady.
// The same holds while the node does not exist; it is asked for again every second. A process that dies is listed
// until its session's timeout has passed: gRPC notices the lost connection sooner, and goes elsewhere.
package grpcresolver
