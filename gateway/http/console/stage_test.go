package console_test

import (
	"context"
	"math"
	"net"
	"testing"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/process"
	"github.com/signalbox/signalbox/client/rollout"
	gateway "github.com/signalbox/signalbox/gateway/http"
	"github.com/signalbox/signalbox/gateway/http/console"
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server"
	"github.com/signalbox/signalbox/server/audit"
	"github.com/signalbox/signalbox/server/servertest"
	"github.com/signalbox/signalbox/shard"
)

const (
	node  = "/prod/jobs"
	token = "the token of a test"
)

// stage is a console in front of a three-host cluster.
type stage struct {
	*testing.T
	cluster *servertest.Cluster
	client  *client.Client
	url     string
	server  *gateway.Server
}

func newStage(t *testing.T, tokens bool) *stage {
	t.Helper()
	cluster := servertest.Start(t, servertest.Hosts(3))
	st := &stage{T: t, cluster: cluster}
	address := st.serve("127.0.0.1:0", tokens)
	t.Cleanup(func() { st.server.Close() })
	st.url = "http://" + address
	var err error
	if st.client, err = st.open(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.client.Close() })
	for id := range shard.HostID(3) {
		cluster.Host(id + 1).ReportLoad(loadAt(int(id)))
	}
	if _, err := st.client.CreateNode(t.Context(), node, client.NodeConfig{}); err != nil {
		t.Fatal(err)
	}
	return st
}

func (st *stage) open(ctx context.Context, _ string) (*client.Client, error) {
	return client.Open(ctx, st.cluster.Addresses(), client.WithDialer(st.cluster.Dial), client.WithName("worker"))
}

// openByToken accepts only the test's token.
func (st *stage) openByToken(ctx context.Context, shown string) (*client.Client, error) {
	if shown != token {
		return nil, &protocol.Error{Status: protocol.StatusUnauthorized, Message: "the token is not known"}
	}
	return st.open(ctx, shown)
}

// serve serves the console at an address and returns the address.
func (st *stage) serve(address string, tokens bool) string {
	st.Helper()
	config := gateway.Config{
		Open: st.open, Actions: !tokens, Files: console.Files(),
		Note: func(ctx context.Context, a gateway.Act) error {
			return st.cluster.Host(1).NoteAct(ctx, audit.Note{Address: a.From, What: a.What, Why: a.Why})
		},
	}
	if tokens {
		config.Open = st.openByToken
	}
	var err error
	g := gateway.New(config)
	if st.server, err = gateway.Listen(address, g, nil, testLog); err != nil {
		st.Fatal(err)
	}
	for i := range measured {
		g.AddLoad(client.HostLoad(loadAt(i)))
	}
	return st.server.Addr().(*net.TCPAddr).String()
}

// measured counts the console host's measurements.
const measured = 60

// loadAt is a host's load, different each time.
func loadAt(i int) server.Load {
	wave := math.Sin(float64(i))
	return server.Load{
		Span: 5 * time.Second, Requests: uint64(600 + 200*wave), P50: 400 * time.Microsecond,
		P99:       time.Duration((2.5 + wave/2) * float64(time.Millisecond)),
		CommitP99: time.Duration((1.5 + wave/4) * float64(time.Millisecond)), DiskFree: 1 << 36, DiskTotal: 1 << 38,
	}
}

// session starts a session.
func (st *stage) session(description string) *client.Session {
	st.Helper()
	s, err := st.client.Session(st.Context(), node, client.Description(description),
		client.SessionTimeout(10*time.Minute))
	if err != nil {
		st.Fatal(err)
	}
	return s
}

// lock has two sessions ask for a semaphore: the first owns it, and the second waits until the channel has an end.
func (st *stage) lock(name string) (first, second *client.Session, lease *client.Lease, granted chan error) {
	st.Helper()
	first, second, granted = st.session("the first"), st.session("the second"), make(chan error, 1)
	lease, err := first.Semaphore(name, client.Limit(1)).Acquire(st.Context(), client.Data([]byte("one")))
	if err != nil {
		st.Fatal(err)
	}
	go func() {
		_, err := second.Semaphore(name).Acquire(st.Context(), client.Data([]byte("two")))
		granted <- err
	}()
	return first, second, lease, granted
}

// await waits for a value from a channel.
func await[T any](t *testing.T, what string, from <-chan T) (got T) {
	t.Helper()
	select {
	case got = <-from:
	case <-time.After(patience):
		t.Fatal("it does not come: " + what)
	}
	return got
}

// objects creates a rollout with three locations and a version, and a process.
func (st *stage) objects() {
	st.Helper()
	s, by := st.session("dns"), rollout.ChangeInfo{Author: "ann", Reason: "a test"}
	spec := rollout.Spec{Locations: []rollout.Location{
		{Name: "SAS", Gates: []string{"errors"}}, {Name: "MAN", Delay: time.Hour}, {Name: "VLA", Delay: time.Hour},
	}}
	err := rollout.NewInSession(s, "dns").Create(st.Context(), spec, by)
	if err == nil {
		_, err = rollout.Publish(st.Context(), s, "dns", []byte("example.org"), rollout.Label("2026-11-22"))
	}
	if err == nil {
		err = st.reach(s, "dns")
	}
	if err == nil {
		_, err = process.New(st.client, node, "rebalance").Put(st.Context(), process.Spec{MinMembers: 2},
			process.ChangeInfo{Author: "ann", Reason: "a test"})
	}
	if err != nil {
		st.Fatal(err)
	}
}

// hang opens a round in a process for which one of two members never prepares.
func (st *stage) hang(name string) {
	st.Helper()
	by := process.ChangeInfo{Author: "ann", Reason: "a test"}
	spec := process.Spec{MinMembers: 2, ReplyTimeout: 100 * time.Millisecond}
	if _, err := process.New(st.client, node, name).Put(st.Context(), spec, by); err != nil {
		st.Fatal(err)
	}
	for _, handler := range []process.Handler{{
		Coordinate: func(context.Context, *process.Round) (any, error) { return nil, nil },
	}, {
		Prepare: func(ctx context.Context, _ *process.Round) error {
			<-ctx.Done()
			return ctx.Err()
		},
	}} {
		if _, err := process.Join(st.Context(), st.session("member of "+name), name, handler); err != nil {
			st.Fatal(err)
		}
	}
}

// reach lets an instance in the first location use a rollout's version.
func (st *stage) reach(s *client.Session, name string) error {
	m, err := rollout.Join(st.Context(), s, name, rollout.Instance{Name: "a.sas", Location: "SAS"})
	if err != nil {
		return err
	}
	for target, err := range m.Targets(st.Context()) {
		if err != nil {
			return err
		}
		return m.Reached(st.Context(), target)
	}
	return st.Context().Err()
}
