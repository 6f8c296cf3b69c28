package grpcresolver_test

import (
	"errors"
	"net/url"
	"strings"
	"testing"

	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/serviceconfig"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/discovery"
	"github.com/signalbox/signalbox/client/discovery/grpcresolver"
)

// listener is a connection that passes on the resolver's reports.
type listener struct {
	resolver.ClientConn
	states chan resolver.State
	errs   chan error
	config error
}

func newListener() *listener {
	return &listener{states: make(chan resolver.State, 100), errs: make(chan error, 100)}
}

func (l *listener) UpdateState(s resolver.State) error { l.states <- s; return nil }
func (l *listener) ReportError(err error)              { l.errs <- err }
func (l *listener) ParseServiceConfig(string) *serviceconfig.ParseResult {
	return &serviceconfig.ParseResult{Err: l.config}
}

func target(t *testing.T, text string) resolver.Target {
	t.Helper()
	u, err := url.Parse(text)
	check(t, err)
	return resolver.Target{URL: *u}
}

func TestTargetsAreChecked(t *testing.T) {
	c := cluster(t)
	for text, says := range map[string]string{
		"signalbox:///":                         "the list in a node is missing",
		"signalbox:///endpoints":                "the list in a node is missing",
		"signalbox:///prod/jobs/":               "the list in a node is missing",
		"signalbox://10.0.0.1:7420/prod/jobs/x": "authority",
	} {
		_, err := grpcresolver.New(c).Build(target(t, text), newListener(), resolver.BuildOptions{})
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", text, err)
		}
	}
	l := newListener()
	l.config = errors.New("no such policy")
	if _, err := grpcresolver.New(c, grpcresolver.ServiceConfig("{}")).Build(target(t, "signalbox:///a/b"), l,
		resolver.BuildOptions{}); !errors.Is(err, l.config) {
		t.Errorf("a service config that cannot be read: %v", err)
	}
}

func TestBalancersSeeWhatWasRegistered(t *testing.T) {
	c := cluster(t)
	_, err := c.CreateNode(t.Context(), path, client.NodeConfig{})
	check(t, err)
	for range 2 { // the same address twice
		s, err := c.Session(t.Context(), path)
		check(t, err)
		_, err = discovery.Register(t.Context(), s, "a/b",
			discovery.Endpoint{Address: "x:1", Metadata: map[string]string{"zone": "b"}})
		check(t, err)
	}
	l := newListener()
	r, err := grpcresolver.New(c).Build(target(t, "signalbox:///prod/jobs/a%2Fb"), l, resolver.BuildOptions{})
	check(t, err)
	state := <-l.states
	if len(state.Endpoints) != 1 || len(state.Addresses) != 1 || state.Addresses[0].Addr != "x:1" {
		t.Fatalf("reported %+v", state)
	}
	e, ok := grpcresolver.EndpointOf(state.Endpoints[0])
	if !ok || e.Address != "x:1" || e.Metadata["zone"] != "b" {
		t.Errorf("the balancer sees %+v", e)
	}
	if _, ok := grpcresolver.EndpointOf(resolver.Endpoint{}); ok {
		t.Error("an endpoint of another resolver was registered, it says")
	}
	r.ResolveNow(resolver.ResolveNowOptions{})
	r.Close()
	s, err := c.Session(t.Context(), path)
	check(t, err)
	_, err = discovery.Register(t.Context(), s, "a/b", discovery.Endpoint{Address: "y:1"})
	check(t, err)
	check(t, c.Close())
	if len(l.states)+len(l.errs) > 0 {
		t.Error("a resolver that was closed goes on")
	}
}

func TestAClosedClientIsReported(t *testing.T) {
	c := cluster(t)
	_, err := c.CreateNode(t.Context(), path, client.NodeConfig{})
	check(t, err)
	l := newListener()
	r, err := grpcresolver.New(c).Build(target(t, "signalbox:///prod/jobs/endpoints"), l, resolver.BuildOptions{})
	check(t, err)
	<-l.states
	check(t, c.Close())
	if err := <-l.errs; !errors.Is(err, client.ErrClosed) {
		t.Errorf("reported %v", err)
	}
	r.Close()
}

// TestEndpointsOfADroppedNodeAreForgotten: the resolver drops the endpoints of a dropped node, although it cannot
// follow the node.
func TestEndpointsOfADroppedNodeAreForgotten(t *testing.T) {
	c := cluster(t)
	_, err := c.CreateNode(t.Context(), path, client.NodeConfig{})
	check(t, err)
	s, err := c.Session(t.Context(), path)
	check(t, err)
	_, err = discovery.Register(t.Context(), s, name, discovery.Endpoint{Address: "x:1"})
	check(t, err)
	l := newListener()
	r, err := grpcresolver.New(c).Build(target(t, "signalbox://"+path+"/"+name), l, resolver.BuildOptions{})
	check(t, err)
	defer r.Close()
	if state := <-l.states; len(state.Addresses) != 1 {
		t.Fatalf("reported %+v", state)
	}
	check(t, c.DropNode(t.Context(), path))
	if err := <-l.errs; !errors.Is(err, client.ErrNodeNotFound) {
		t.Fatal(err)
	}
	var last *resolver.State
	for len(l.states) > 0 {
		state := <-l.states
		last = &state
	}
	if last == nil || len(last.Addresses) != 0 || len(last.Endpoints) != 0 {
		t.Errorf("the last list that was reported before the error: %+v", last)
	}
}
