// Package handletest provides a host and a client for handler tests: the client is no connection, and its requests get
// the handler's answer or error, now or later.
package handletest

import (
	"errors"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/valyala/bytebufferpool"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/server/caller"
	"github.com/signalbox/signalbox/server/handle"
	"github.com/signalbox/signalbox/server/lease"
	"github.com/signalbox/signalbox/server/metrics"
	"github.com/signalbox/signalbox/server/pipeline"
	"github.com/signalbox/signalbox/server/replica"
	"github.com/signalbox/signalbox/server/watch"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/meta"
	"github.com/signalbox/signalbox/test/memlog"
)

// Host opens a host by itself, on logs in memory and with one data shard, and waits until the host serves and has
// records. access may
// be nil: then every client may do everything.
func Host(tb testing.TB, access caller.Access) *handle.Host {
	tb.Helper()
	network, err := memlog.NewNetwork(memlog.Config{Seed: 1, Hosts: []shard.HostID{1}})
	if err != nil {
		tb.Fatal(err)
	}
	network.Start()
	counts := metrics.New()
	h := &handle.Host{
		ID: 1, Name: "host-1", Cluster: "test", Version: "1", Clock: time.Now, Metrics: counts,
		Watches: watch.NewBudget(1 << 20), Refusal: func() error { return nil },
		AboveLevel: func(level.Level) *protocol.Result {
			return &protocol.Result{Status: protocol.StatusUnsupported, Message: "the level is too low"}
		},
	}
	h.Set = replica.New(replica.Config{
		Self: meta.Host{ID: 1, Name: "host-1", ClientAddress: "host-1:1", RaftAddress: "host-1:2",
			Level: level.Newest},
		Cluster: "test", Hosts: []shard.HostID{1}, Shards: 1, Clock: time.Now, Log: slog.New(slog.DiscardHandler),
		Metrics: counts, Watches: h.Watches, DigestInterval: time.Hour,
		Maintenance: func(time.Time, bool) bool { return false },
		Logs: func(group uint64, sm shard.StateMachine) (shard.Log, error) {
			return network.Open(1, memlog.GroupID(group+1), sm)
		},
	})
	h.Meta = h.Set.Meta
	h.Gate = caller.NewGate(caller.Config{
		Access: access, Meta: h.Meta, Nodes: h.Meta.Machine, Clock: time.Now, Started: time.Now(),
	})
	if err := h.Set.Open(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		h.Set.Close()
		_ = network.Close()
	})
	lacks := func() bool { return h.Set.Readiness().Lacks != nil || !h.Meta.Machine.Bootstrapped() }
	for deadline := time.Now().Add(time.Minute); lacks(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			tb.Fatalf("the host does not serve: %v", h.Set.Readiness().Lacks)
		}
	}
	return h
}

// Client is a client of handlers, with the given sessions. Unexpected connection calls fail the test.
type Client struct {
	handle.Connection
	t        testing.TB
	handlers handle.Table
	by       *caller.Caller
	source   *pipeline.Source
	holder   *lease.Holder
	next     uint64
	// Appended receives the kinds of messages appended by non-handlers.
	Appended chan protocol.Kind

	mu       sync.Mutex // guards the fields below
	outcomes map[uint64]chan outcome
	pushes   chan protocol.PushMessage
	sessions map[shard.SessionID]handle.Binding
	watches  int
	gone     bool
}

type outcome struct {
	answer protocol.AnswerMessage
	err    error
}

// NewClient returns a client with a token for handlers.
func NewClient(t testing.TB, h *handle.Host, handlers handle.Table, token string) *Client {
	t.Helper()
	by, _, refused := h.Gate.Enter([]byte(token), nil)
	if refused != nil {
		t.Fatalf("the client is refused: %v", refused)
	}
	by.Client = shard.ClientState{Name: "tester", Address: "192.0.2.1:1"}
	c := &Client{
		t: t, handlers: handlers, by: by, source: pipeline.NewSource(token, nil),
		holder: lease.NewHolder(time.Now()), outcomes: make(map[uint64]chan outcome),
		pushes: make(chan protocol.PushMessage, 100), Appended: make(chan protocol.Kind, 100),
		sessions: make(map[shard.SessionID]handle.Binding),
	}
	c.holder.Owner = c
	return c
}

// Send passes a request to its handler, and returns a function to wait for the outcome.
func (c *Client) Send(m protocol.RequestMessage) (wait func() (protocol.AnswerMessage, error)) {
	c.t.Helper()
	c.next++
	var frame bytebufferpool.ByteBuffer
	protocol.NewEncoder().Request(&frame, c.next, m)
	payload, _, err := protocol.ScanFrame(frame.B, 1<<20)
	if err != nil {
		c.t.Fatal(err)
	}
	decoded, err := protocol.NewRequestDecoder(1 << 20).Decode(payload)
	if err != nil {
		c.t.Fatal(err)
	}
	came := make(chan outcome, 1)
	c.mu.Lock()
	c.outcomes[c.next] = came
	c.mu.Unlock()
	r := &handle.Request{Request: decoded, Caller: c.by, Conn: c, HeardAt: time.Now()}
	t := r.Ticket()
	t.Complete(c.handlers[decoded.Kind](r))
	return func() (protocol.AnswerMessage, error) {
		c.t.Helper()
		select {
		case o := <-came:
			return o.answer, o.err
		case <-time.After(time.Minute):
			c.t.Fatalf("%v has no outcome", m.Kind())
			return nil, nil
		}
	}
}

// Ask passes a request to its handler, and returns the outcome.
func (c *Client) Ask(m protocol.RequestMessage) (protocol.AnswerMessage, error) {
	c.t.Helper()
	return c.Send(m)()
}

// Pushed returns the next push.
func (c *Client) Pushed() protocol.PushMessage {
	c.t.Helper()
	select {
	case m := <-c.pushes:
		return m
	case <-time.After(time.Minute):
		c.t.Fatal("nothing is pushed")
		return nil
	}
}

// Close closes the client's connection.
func (c *Client) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.gone = true
}

// Must returns a successful outcome's answer.
func Must[M protocol.AnswerMessage](t testing.TB, m protocol.AnswerMessage, err error) M {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return m.(M)
}

// Refused fails the test unless an outcome is an error with a status.
func Refused(t testing.TB, what string, err error, want protocol.Status) {
	t.Helper()
	var result *protocol.Result
	if !errors.As(err, &result) || result.Status != want {
		t.Errorf("%s: the error is %v, want %v", what, err, want)
	}
}
