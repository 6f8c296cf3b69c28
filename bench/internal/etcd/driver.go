package etcd

import (
	"context"
	"fmt"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/signalbox/signalbox/bench/internal/load"
	"github.com/signalbox/signalbox/loadgen/report"
)

// Driver drives a cluster with several clients, spread over the members. Callers are spread over the clients.
type Driver struct {
	clients []*clientv3.Client
	plan    load.Plan
}

// workloads by name. Each workload is in its kind's file.
var workloads = map[string]func(*Driver, context.Context) (*report.Report, error){
	"lock":         (*Driver).lock,
	"handoff":      (*Driver).handoff,
	"read-strict":  (*Driver).readStrict,
	"read-relaxed": (*Driver).readRelaxed,
	"session":      (*Driver).session,
	"barrier":      (*Driver).barrier,
	"watch":        (*Driver).watch,
}

// Drive runs one workload on a cluster.
func Drive(ctx context.Context, endpoints []string, plan load.Plan) (*report.Report, error) {
	run, ok := workloads[plan.Workload]
	if !ok {
		return nil, fmt.Errorf("etcd has no workload %q", plan.Workload)
	}
	d := &Driver{plan: plan}
	defer d.close()
	for i := range plan.Connections {
		client, err := dial(endpoints[i%len(endpoints)])
		if err != nil {
			return nil, fmt.Errorf("connect to etcd at %s: %w", endpoints[i%len(endpoints)], err)
		}
		d.clients = append(d.clients, client)
	}
	return run(d, ctx)
}

func (d *Driver) close() {
	for _, client := range d.clients {
		client.Close()
	}
}

// client is a caller's client.
func (d *Driver) client(caller int) *clientv3.Client { return d.clients[caller%len(d.clients)] }
