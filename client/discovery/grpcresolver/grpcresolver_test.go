package grpcresolver_test

import (
	"context"
	"net"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/discovery"
	"github.com/signalbox/signalbox/client/discovery/grpcresolver"
	"github.com/signalbox/signalbox/server/servertest"
)

const (
	path = "/prod/jobs"
	name = "endpoints"

	// patience bounds the wait for an event that must come.
	patience = 30 * time.Second
)

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// cluster starts a cluster in memory, with a client.
func cluster(t *testing.T) *client.Client {
	t.Helper()
	srv := servertest.Start(t)
	c, err := client.Open(t.Context(), srv.Addresses(), client.WithDialer(srv.Dial))
	check(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// service is a gRPC server over TCP with its own registration.
type service struct {
	t            *testing.T
	address      string
	server       *grpc.Server
	registration *discovery.Registration
}

func serve(t *testing.T, c *client.Client, metadata map[string]string) *service {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	x := &service{t: t, address: l.Addr().String(), server: grpc.NewServer()}
	grpc_health_v1.RegisterHealthServer(x.server, health.NewServer())
	var running sync.WaitGroup
	running.Go(func() { _ = x.server.Serve(l) })
	t.Cleanup(func() {
		x.server.Stop()
		running.Wait()
	})
	s, err := c.Session(t.Context(), path, client.Recreate())
	check(t, err)
	x.registration, err = discovery.Register(t.Context(), s, name,
		discovery.Endpoint{Address: x.address, Metadata: metadata})
	check(t, err)
	return x
}

// leave ends a service in the recommended order.
func (s *service) leave() {
	s.t.Helper()
	check(s.t, s.registration.Close(s.t.Context()))
	s.server.GracefulStop()
}

func connect(t *testing.T, c *client.Client, options ...grpcresolver.Option) *grpc.ClientConn {
	t.Helper()
	conn, err := grpc.NewClient("signalbox://"+path+"/"+name,
		grpc.WithResolvers(grpcresolver.New(c, options...)), grpc.WithTransportCredentials(insecure.NewCredentials()))
	check(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// call makes one call and returns the answering server.
func call(ctx context.Context, conn *grpc.ClientConn, options ...grpc.CallOption) (address string, err error) {
	var by peer.Peer
	_, err = grpc_health_v1.NewHealthClient(conn).Check(ctx, &grpc_health_v1.HealthCheckRequest{},
		append(options, grpc.Peer(&by))...)
	if err != nil {
		return "", err
	}
	return by.Addr.String(), nil
}

// answered calls until exactly these servers have answered, with enough calls in a row to be sure. No call fails.
func answered(t *testing.T, conn *grpc.ClientConn, want ...*service) {
	t.Helper()
	awaitAnswers(t, conn, false, want)
}

// answeredAfterAFailure is answered for a server that stopped without notice: a call sent before the client notices
// fails.
func answeredAfterAFailure(t *testing.T, conn *grpc.ClientConn, want ...*service) {
	t.Helper()
	awaitAnswers(t, conn, true, want)
}

func awaitAnswers(t *testing.T, conn *grpc.ClientConn, mayFail bool, want []*service) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for {
		got := make(map[string]bool)
		for range 4 * len(want) {
			by, err := call(ctx, conn, grpc.WaitForReady(true))
			if !mayFail || status.Code(err) != codes.Unavailable {
				check(t, err)
			}
			got[by] = true
		}
		all := len(got) == len(want)
		for _, x := range want {
			all = all && got[x.address]
		}
		if all {
			return
		}
	}
}

func TestCallsAreSpreadOverAllWhoAreThere(t *testing.T) {
	c := cluster(t)
	_, err := c.CreateNode(t.Context(), path, client.NodeConfig{})
	check(t, err)
	a, b := serve(t, c, nil), serve(t, c, map[string]string{"zone": "b"})
	conn := connect(t, c, grpcresolver.RoundRobin())
	answered(t, conn, a, b)
	d := serve(t, c, nil)
	answered(t, conn, a, b, d)
	a.leave()
	answered(t, conn, b, d)
	b.server.Stop() // listed but not reachable
	answeredAfterAFailure(t, conn, d)
}

func TestWithoutBalancingOneIsCalledUntilItGoes(t *testing.T) {
	c := cluster(t)
	_, err := c.CreateNode(t.Context(), path, client.NodeConfig{})
	check(t, err)
	a, b := serve(t, c, nil), serve(t, c, nil)
	conn := connect(t, c)
	answered(t, conn, a)
	a.leave()
	answered(t, conn, b)
}

func TestCallsWithoutEndpointsFailOrWait(t *testing.T) {
	c := cluster(t)
	_, err := c.CreateNode(t.Context(), path, client.NodeConfig{})
	check(t, err)
	conn := connect(t, c)
	if _, err := call(t.Context(), conn); status.Code(err) != codes.Unavailable {
		t.Errorf("a call that does not wait: %v", err)
	}
	done := make(chan error, 1)
	go func() {
		_, err := call(t.Context(), conn, grpc.WaitForReady(true))
		done <- err
	}()
	serve(t, c, nil)
	check(t, <-done)
}

func TestANodeMayBeMadeLater(t *testing.T) {
	c := cluster(t)
	conn := connect(t, c)
	if _, err := call(t.Context(), conn); status.Code(err) != codes.Unavailable {
		t.Errorf("a call into nowhere: %v", err)
	}
	_, err := c.CreateNode(t.Context(), path, client.NodeConfig{})
	check(t, err)
	answered(t, conn, serve(t, c, nil))
}
