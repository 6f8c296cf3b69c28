package admin

import (
	"cmp"
	"context"
	"slices"

	"github.com/signalbox/signalbox/client/internal/cluster"
	"github.com/signalbox/signalbox/client/internal/conn"
	"github.com/signalbox/signalbox/protocol"
)

// MaxTraffic is the maximum number of clients, and of nodes, in a Traffic.
const MaxTraffic = protocol.MaxTraffic

// Traffic is the rate of requests to all hosts over about the last minute, by client and by node.
type Traffic struct {
	// PerSecond is the rate of all requests, including clients and nodes that are not listed.
	PerSecond float64 `name:"requests_per_second"`
	// Clients and Nodes are sorted by rate, highest first, at most MaxTraffic each. A caller without the right to read
	// all nodes gets no clients, and only nodes it may read.
	Clients []ClientTraffic
	Nodes   []NodeTraffic
	// Hosts is how many hosts reported their requests, of Asked hosts.
	Hosts int
	Asked int `name:"hosts_asked"`
}

// ClientTraffic is the request rate of a client. Connections with the same name, principal and address count as one
// client.
type ClientTraffic struct {
	Name      string
	Principal string  `about:"Token or certificate name. Absent without one"`
	Address   string  `about:"Client machine, without the port"`
	PerSecond float64 `name:"requests_per_second"`
}

// NodeTraffic is the request rate in a node.
type NodeTraffic struct {
	Node      string
	PerSecond float64 `name:"requests_per_second"`
}

// Traffic asks every host for its requests by client and by node, and adds up the answers. The call fails only if no
// host answers.
func (a *Admin) Traffic(ctx context.Context) (*Traffic, error) {
	var t *Traffic
	err := a.core.Do(ctx, string(OpTraffic), "", func(ctx context.Context) error {
		of := a.core.Cluster()
		if err := of.Refresh(ctx); err != nil {
			return err
		}
		all := cluster.AskEach(of, func(h *cluster.Host) hostTraffic { return askTraffic(ctx, h) })
		if len(all) > 0 && !slices.ContainsFunc(all, func(h hostTraffic) bool { return h.err == nil }) {
			return all[0].err
		}
		t = addTraffic(all)
		return nil
	})
	return t, failed(OpTraffic, "", err)
}

// hostTraffic is the answer from one host.
type hostTraffic struct {
	Traffic
	reports bool // false for an earlier build
	err     error
}

func askTraffic(ctx context.Context, h *cluster.Host) (t hostTraffic) {
	to, err := h.Conn(ctx, 0)
	if err == nil {
		err = to.RoundTrip(ctx, &protocol.HostLoad{Traffic: true}, func(a *protocol.Answer) {
			m := &a.HostLoad.Traffic
			seconds := conn.Millis(max(m.SpanMillis, 1)).Seconds()
			rate := func(requests uint64) float64 { return float64(requests) / seconds }
			t.PerSecond, t.reports = rate(m.Requests), m.SpanMillis > 0
			for x := range m.Clients.All() {
				t.Clients = append(t.Clients, ClientTraffic{string(x.Name), string(x.Principal), string(x.Address),
					rate(x.Requests)})
			}
			for x := range m.Nodes.All() {
				t.Nodes = append(t.Nodes, NodeTraffic{string(x.Path), rate(x.Requests)})
			}
		})
	}
	t.err = err
	return t
}

// addTraffic adds up the answers from all hosts.
func addTraffic(all []hostTraffic) *Traffic {
	sum, clients, nodes := &Traffic{Asked: len(all)}, make(map[ClientTraffic]float64), make(map[string]float64)
	for _, t := range all {
		if t.reports {
			sum.Hosts++
		}
		sum.PerSecond += t.PerSecond
		for _, c := range t.Clients {
			rate := c.PerSecond
			c.PerSecond = 0
			clients[c] += rate
		}
		for _, n := range t.Nodes {
			nodes[n.Node] += n.PerSecond
		}
	}
	for c, rate := range clients {
		c.PerSecond = rate
		sum.Clients = append(sum.Clients, c)
	}
	for node, rate := range nodes {
		sum.Nodes = append(sum.Nodes, NodeTraffic{node, rate})
	}
	slices.SortFunc(sum.Clients, func(a, b ClientTraffic) int {
		return cmp.Or(cmp.Compare(b.PerSecond, a.PerSecond), cmp.Compare(a.Name, b.Name),
			cmp.Compare(a.Address, b.Address), cmp.Compare(a.Principal, b.Principal))
	})
	slices.SortFunc(sum.Nodes, func(a, b NodeTraffic) int {
		return cmp.Or(cmp.Compare(b.PerSecond, a.PerSecond), cmp.Compare(a.Node, b.Node))
	})
	sum.Clients = sum.Clients[:min(len(sum.Clients), MaxTraffic)]
	sum.Nodes = sum.Nodes[:min(len(sum.Nodes), MaxTraffic)]
	return sum
}
