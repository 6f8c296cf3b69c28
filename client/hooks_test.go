package client_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/protocol"
)

// seenHooks keep all reports.
type seenHooks struct {
	client.NoHooks

	mu          sync.Mutex
	open        int
	operations  []string
	ends        []client.OperationEnd
	connections []client.ConnectionChange
	sessions    []client.SessionChange
}

type startedKey struct{}

func (h *seenHooks) OperationStarted(ctx context.Context, op client.Operation) context.Context {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.open++
	return context.WithValue(ctx, startedKey{}, op)
}

func (h *seenHooks) OperationEnded(ctx context.Context, op client.Operation, end client.OperationEnd) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.open--
	if ctx.Value(startedKey{}) != op {
		h.operations = append(h.operations, "the context is not that of the start")
	}
	h.operations = append(h.operations, fmt.Sprintf("%s %s %s: %s", op.Kind, op.Node, op.Name, end.Status))
	h.ends = append(h.ends, end)
}

func (h *seenHooks) ConnectionChanged(c client.ConnectionChange) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.connections = append(h.connections, c)
}

func (h *seenHooks) SessionChanged(s client.SessionChange) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.sessions = append(h.sessions, s)
}

// take returns the operations ended since the last call, and the latest operation's outcome.
func (h *seenHooks) take(t *testing.T) (operations []string, last client.OperationEnd) {
	t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.open != 0 {
		t.Errorf("%d operations have not ended", h.open)
	}
	operations, h.operations = h.operations, nil
	return operations, h.ends[len(h.ends)-1]
}

func TestHooksSeeOperations(t *testing.T) {
	playFake(t, 1, 1, func(t *testing.T, fake *fakeCluster, _ *client.Client) {
		var h seenHooks
		ctx := t.Context()
		c := open(t, fake, client.WithHooks(&h))
		s, other := session(t, c), session(t, c)
		sem, node := s.Semaphore(name, client.Limit(1)), c.Node(path)
		lease := acquire(t, sem)
		_, _, _ = other.Semaphore(name).TryAcquire(ctx)
		_, _ = other.Semaphore(name).Acquire(ctx, client.Wait(time.Second))
		check(t, lease.Change(ctx, client.Data([]byte("x"))))
		check(t, lease.Update(ctx, nil))
		check(t, sem.Update(ctx, nil, client.Guard(lease)))
		_, err := sem.Describe(ctx)
		check(t, err)
		check(t, lease.Release(ctx))
		_, _ = node.Describe(ctx, "nothing")
		_, _ = sem.Acquire(ctx, client.Count(0))
		_, _ = c.CreateNode(ctx, "/x", client.NodeConfig{})
		check(t, c.DropNode(ctx, "/x"))
		check(t, other.Close(ctx))
		check(t, c.Ping(ctx))
		on := func(what, status string) string { return what + " " + path + " " + name + ": " + status }
		want := []string{
			"start_session " + path + " : SUCCESS", "start_session " + path + " : SUCCESS", on("acquire", "SUCCESS"),
			on("try_acquire", "NOT_ACQUIRED"), on("acquire", "NOT_ACQUIRED"), on("change", "SUCCESS"),
			on("update", "SUCCESS"), on("update", "SUCCESS"), on("describe", "SUCCESS"), on("release", "SUCCESS"),
			"describe " + path + " nothing: NOT_FOUND", on("acquire", "BAD_REQUEST"),
			"create_node /x : SUCCESS", "drop_node /x : SUCCESS", "close_session " + path +
				" : SUCCESS", "ping  : SUCCESS",
		}
		if got, _ := h.take(t); !slices.Equal(got, want) {
			t.Errorf("they saw\n%s\nnot\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}

		fake.once(protocol.KindAcquire, fault{refuse: &protocol.Result{Status: protocol.StatusOverloaded,
			WaitMillis: 700}})
		acquire(t, sem)
		if _, end := h.take(t); end.Retries != 1 || end.Duration < 700*time.Millisecond || end.Err != nil {
			t.Errorf("of an acquire that was tried twice: %+v", end)
		}
		third := session(t, c)
		waiting, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		_, _ = third.Semaphore(name).Acquire(waiting)
		if _, end := h.take(t); end.Status != "DEADLINE_EXCEEDED" || end.Duration != time.Second ||
			!errors.Is(end.Err, context.DeadlineExceeded) {
			t.Errorf("of an acquire that was given up: %+v", end)
		}
	})
}

func TestHooksAndTheLogSeeConnectionsAndSessions(t *testing.T) {
	playFake(t, 1, 1, func(t *testing.T, fake *fakeCluster, _ *client.Client) {
		var h seenHooks
		var text bytes.Buffer
		log := slog.New(slog.NewTextHandler(&text, &slog.HandlerOptions{Level: slog.LevelDebug}))
		c := open(t, fake, client.WithHooks(&h), client.WithLogger(log))
		s := session(t, c)
		id := s.ID()
		fake.take(0)
		time.Sleep(2 * time.Second)
		fake.bring(0)
		eventually(t, 10*time.Second, "it is attached again", func() bool { return s.State() == client.Attached })
		check(t, s.Close(t.Context()))
		check(t, c.Close())
		quiet()
		var states []client.ConnectionState
		for _, x := range h.connections {
			if x.Address == "" || (x.Err == nil) != (x.State == client.ConnectionUp) {
				t.Errorf("%+v", x)
			}
			states = append(states, x.State)
		}
		if states = slices.Compact(states); !slices.Equal(states, []client.ConnectionState{
			client.ConnectionUp, client.ConnectionDown, client.ConnectionFailed, client.ConnectionUp,
			client.ConnectionDown,
		}) {
			t.Error(states)
		}
		var of []client.State
		for _, x := range h.sessions {
			if x.SessionID != id || x.Node != path || (x.Err == nil) != (x.State == client.Attached) {
				t.Errorf("%+v", x)
			}
			of = append(of, x.State)
		}
		if !slices.Equal(of, []client.State{client.Attached, client.Detached, client.Attached, client.Closed}) {
			t.Error(of)
		}
		for _, want := range []string{"msg=connected host=", `msg="connection lost" host=`,
			`msg="no connection to a host" host=`} {
			if !strings.Contains(text.String(), want) {
				t.Errorf("the log has no %q:\n%s", want, &text)
			}
		}
	})
}
