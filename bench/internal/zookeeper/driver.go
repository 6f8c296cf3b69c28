package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/signalbox/signalbox/bench/internal/load"
	"github.com/signalbox/signalbox/loadgen/report"
)

// sessionTimeout is the requested session timeout.
const sessionTimeout = 30 * time.Second

// Driver drives an ensemble. Each session has its own connection; sessions are spread over the servers.
type Driver struct {
	endpoints []string
	plan      load.Plan
}

// workloads maps names to workloads, each in the file for its kind.
var workloads = map[string]func(*Driver, context.Context) (*report.Report, error){
	"lock":         (*Driver).lock,
	"handoff":      (*Driver).handoff,
	"read-strict":  (*Driver).readStrict,
	"read-relaxed": (*Driver).readRelaxed,
	"session":      (*Driver).session,
	"barrier":      (*Driver).barrier,
}

// Drive runs one workload on an ensemble.
func Drive(ctx context.Context, endpoints []string, plan load.Plan) (*report.Report, error) {
	run, ok := workloads[plan.Workload]
	if !ok {
		return nil, fmt.Errorf("ZooKeeper has no workload %q", plan.Workload)
	}
	plan.Connections = plan.Callers
	return run(&Driver{endpoints: endpoints, plan: plan}, ctx)
}

// connect opens a caller's session.
func (d *Driver) connect(ctx context.Context, caller int) (*zk.Conn, error) {
	return connect(ctx, d.endpoints[caller%len(d.endpoints)])
}

// connect opens a session with one of the given servers.
func connect(ctx context.Context, endpoints ...string) (*zk.Conn, error) {
	conn, events, err := zk.Connect(endpoints, sessionTimeout, zk.WithLogger(silence{}))
	if err != nil {
		return nil, err
	}
	for {
		select {
		case e, open := <-events:
			if !open {
				return nil, errors.New("the connection was closed")
			}
			if e.State == zk.StateHasSession {
				return conn, nil
			}
		case <-ctx.Done():
			conn.Close()
			return nil, context.Cause(ctx)
		}
	}
}

// sessions opens a session for every caller. The sessions end with the servers.
func (d *Driver) sessions(ctx context.Context) ([]*zk.Conn, error) {
	return load.Prepare(d.plan.Callers, func(i int) (*zk.Conn, error) { return d.connect(ctx, i) })
}

// silence is a client logger without output.
type silence struct{}

func (silence) Printf(string, ...any) {}
