package connection

import (
	"cmp"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/signalbox/signalbox/server/caller"
	"github.com/signalbox/signalbox/shard"
)

const (
	// sampleEvery is the minimum time between two samples of the request counts, and samples the number of kept
	// samples: a program that samples every five seconds has counts for the last minute.
	sampleEvery = 4500 * time.Millisecond
	samples     = 13
	// maxCounted is the maximum number of clients, and of nodes, with a count of their own.
	maxCounted = 1024
)

// TrafficClient is a client in a request count. Connections with the same name, principal and address count as one
// client.
type TrafficClient struct{ Name, Principal, Address string }

// Traffic is the recent request count for a client or a node.
type Traffic[K comparable] struct {
	Key      K
	Requests uint64
}

// counter counts requests. A connection keeps a pointer to its counters, so that a request costs an atomic add. A
// counter without a recent request is retired; the connection then asks for a new one. A connection that found all
// counters taken keeps counting in rest, also after a counter was retired. The totals lack a request that is counted
// while its counter is being retired.
type counter struct {
	requests atomic.Uint64
	retired  atomic.Bool
	past     [samples]uint64 // guarded by the lock of its counters
}

// counters have a counter for each client or node with a recent request.
type counters[K comparable] struct {
	mu    sync.Mutex // guards the fields below
	all   map[K]*counter
	times [samples]time.Time
	taken int // number of samples; the latest is at index (taken-1)%samples

	// rest counts requests without a key, and requests for keys above maxCounted.
	rest counter
}

// init begins to count.
func (c *counters[K]) init(now time.Time) {
	c.all, c.times[0], c.taken = make(map[K]*counter), now, 1
}

// of returns the counter for a key.
func (c *counters[K]) of(key K) *counter {
	c.mu.Lock()
	defer c.mu.Unlock()
	one := c.all[key]
	switch {
	case one != nil:
		return one
	case len(c.all) >= maxCounted:
		return &c.rest
	}
	one = &counter{}
	c.all[key] = one
	return one
}

// oldest returns the index of the oldest sample.
func (c *counters[K]) oldest() int { return max(0, c.taken-samples) % samples }

// sample keeps the present counts, and retires counters without a request since the oldest sample.
func (c *counters[K]) sample(now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now.Sub(c.times[(c.taken-1)%samples]) < sampleEvery {
		return
	}
	at := c.taken % samples
	c.times[at] = now
	c.taken++
	keep := func(one *counter) (idle bool) {
		one.past[at] = one.requests.Load()
		return one.past[at] == one.past[c.oldest()]
	}
	keep(&c.rest)
	for key, one := range c.all {
		if keep(one) {
			one.retired.Store(true)
			delete(c.all, key)
		}
	}
}

// since returns the time since the oldest sample, the number of requests in this time, and the requests by key, most
// requests first.
func (c *counters[K]) since(now time.Time) (span time.Duration, total uint64, list []Traffic[K]) {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := c.oldest()
	total = c.rest.requests.Load() - c.rest.past[at]
	for key, one := range c.all {
		if n := one.requests.Load() - one.past[at]; n > 0 {
			total += n
			list = append(list, Traffic[K]{key, n})
		}
	}
	slices.SortFunc(list, func(a, b Traffic[K]) int { return cmp.Compare(b.Requests, a.Requests) })
	return now.Sub(c.times[at]), total, list
}

// traffic has a connection's counters. Used on the event loop only.
type traffic struct {
	client, node *counter
	id           shard.NodeID // the node that is counted by node
}

// count counts a request in a node, or a request without a node.
func (c *Conn) count(id shard.NodeID) {
	t := &c.traffic
	if t.client == nil || t.client.retired.Load() {
		t.client = c.set.clients.of(trafficClient(c.request.Caller))
	}
	t.client.requests.Add(1)
	if t.node == nil || id != t.id || t.node.retired.Load() {
		t.id, t.node = id, c.set.nodeCounter(id)
	}
	t.node.requests.Add(1)
}

// nodeCounter returns the counter for a node. A client may name nodes that do not exist.
func (s *Set) nodeCounter(id shard.NodeID) *counter {
	if _, known := s.Gate.Nodes.NodeByID(id); !known {
		return &s.nodes.rest
	}
	return s.nodes.of(id)
}

func trafficClient(by *caller.Caller) TrafficClient {
	address := by.Client.Address
	if at, err := netip.ParseAddrPort(address); err == nil {
		address = at.Addr().Unmap().String()
	}
	return TrafficClient{by.Client.Name, by.Name, address}
}

// SampleTraffic keeps the present request counts. The host calls SampleTraffic with each report of its load.
func (s *Set) SampleTraffic(now time.Time) {
	s.clients.sample(now)
	s.nodes.sample(now)
}

// Traffic returns the requests since the oldest sample, most requests first. total also has requests without a node,
// and requests from or in those without a count of their own.
func (s *Set) Traffic(now time.Time) (
	span time.Duration, total uint64, clients []Traffic[TrafficClient], nodes []Traffic[shard.NodeID],
) {
	span, total, clients = s.clients.since(now)
	_, _, nodes = s.nodes.since(now)
	return span, total, clients, nodes
}
