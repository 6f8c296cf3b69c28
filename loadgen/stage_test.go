package loadgen

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/server/servertest"
)

// short configures a short workload run on a test cluster.
func short(srv *servertest.Cluster, workload string) Config {
	return Config{
		Workload: workload, Endpoints: srv.Addresses(), Dialer: srv.Dial, Duration: 300 * time.Millisecond,
		Warmup: 20 * time.Millisecond, Callers: 8, Connections: 2, Watchers: 24, Workers: 16, Sessions: 40, Writes: 200,
	}
}

// prepared returns a prepared workload on a new cluster.
func prepared[T workload](t *testing.T, config func(srv *servertest.Cluster) Config) (T, *run) {
	t.Helper()
	srv := servertest.Start(t)
	c, err := config(srv).complete()
	check(t, err)
	r := &run{config: c, prefix: "test/"}
	t.Cleanup(r.fleet.close)
	t.Cleanup(r.end)
	check(t, r.open(t.Context()))
	w := kinds[c.Workload].make().(T)
	check(t, w.prepare(t.Context(), r))
	return w, r
}

func of(workload string) func(srv *servertest.Cluster) Config {
	return func(srv *servertest.Cluster) Config { return short(srv, workload) }
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// wantError checks that an error contains a text.
func wantError(t *testing.T, err error, says string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), says) {
		t.Errorf("the error is %v, and should say %q", err, says)
	}
}

// wantBroken checks that exactly one violation is reported.
func wantBroken(t *testing.T, r *run, says string) {
	t.Helper()
	list := r.broken.list()
	if len(list) != 1 || !strings.Contains(list[0], says) {
		t.Errorf("broken are %q, and should be one that says %q", list, says)
	}
}

// outsider returns a client session outside the run.
func outsider(t *testing.T, r *run) *client.Session {
	t.Helper()
	c, err := client.Open(t.Context(), r.config.Endpoints, client.WithDialer(r.config.Dialer))
	check(t, err)
	t.Cleanup(func() { _ = c.Close() })
	s, err := c.Session(t.Context(), r.node)
	check(t, err)
	return s
}

var errTest = errors.New("the test wants it so")

func failing(context.Context) error { return errTest }

func withTimeout(t *testing.T, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(t.Context(), d)
}
