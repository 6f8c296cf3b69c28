package client

import (
	"context"
	"strconv"
	"time"

	"github.com/signalbox/signalbox/client/internal/cluster"
	"github.com/signalbox/signalbox/client/internal/conn"
	"github.com/signalbox/signalbox/protocol"
)

// HostStatus is a host's status.
type HostStatus struct {
	// ID and Address are the host's id and address as known to the client; ID is 0 if the client has never reached the
	// host.
	ID      uint64
	Address string
	// Err is set if the host did not answer; the fields below are zero then.
	Err error `name:"error"`

	Name    string
	Version string
	Uptime  time.Duration
	// Fresh: the host believes to lead some shards, and knew lately that the belief is true. Shards without sessions
	// do not count.
	Fresh       bool `name:"leadership_confirmed"`
	Connections int
	Sessions    int // attached over these connections
	Shards      []ShardStatus
	// Meta is the shard for nodes, hosts and routing. Its Term is 0 if the host does not report it.
	Meta ShardStatus `name:"meta_shard"`
	// FeatureLevel is the cluster's level as known to the host, NewestLevel the highest level supported by the host's
	// build; both are 0 if not reported. LevelHeldBy names the hosts that prevent the level from rising, if any.
	FeatureLevel int
	NewestLevel  int    `name:"supported_feature_level"`
	LevelHeldBy  string `name:"feature_level_held_by"`
	// Generation counts how often the host's cluster was restored from a backup or recovered from quorum loss. Sessions
	// and fencing tokens from an earlier generation are invalid in a later generation.
	Generation uint64
	// Refusal is why the host rejects changes that do not free space: its disk is nearly full or, if the host leads,
	// the disks on too many other hosts are. Refusal is empty if the host accepts changes.
	Refusal string `name:"write_rejection"`
	// Load is the host's load in its latest measurement; nil if not reported, for example by an earlier build.
	Load *HostLoad
}

// HostLoad is a host's load during a measurement. Requests are counts, so they can be summed over many hosts.
type HostLoad struct {
	Span     time.Duration // measurement duration; 0 if the host has not measured yet
	Requests uint64        // answered during the measurement
	Failed   uint64        // requests that failed
	// P50 and P99 are how long an answer took: the median, and the longest time but for one answer in a hundred.
	P50 time.Duration
	P99 time.Duration
	// CommitP99 is the 99th percentile of the commit latency for a batch of changes.
	CommitP99 time.Duration
	// DiskFree and DiskTotal are bytes in the data directory's file system; both are 0 if not reported.
	DiskFree  uint64
	DiskTotal uint64
}

// PerSecond returns the host's request and error rates per second.
func (l *HostLoad) PerSecond() (requests, failed float64) {
	if l.Span <= 0 {
		return 0, 0
	}
	return float64(l.Requests) / l.Span.Seconds(), float64(l.Failed) / l.Span.Seconds()
}

// ShardStatus is a shard's status on one host.
type ShardStatus struct {
	ID           uint64
	Leader       uint64 // leader's host id; 0 if unknown
	Term         uint64
	AppliedIndex uint64 // last log entry applied here
	CommitLag    uint64 // entries known as committed, and not in effect
	Sessions     uint64
	Semaphores   uint64
	Waiters      uint64
	Rollouts     uint64
	Processes    uint64
}

// Status asks all known hosts for their status. A host that does not answer is listed with an error. Status itself
// fails only if the client cannot get the routing.
func (c *Client) Status(ctx context.Context) ([]HostStatus, error) {
	if err := c.scope.Usable(); err != nil {
		return nil, failed("status", "", err)
	}
	if err := c.cluster.Refresh(ctx); err != nil {
		return nil, failed("status", "", err)
	}
	return cluster.AskEach(c.cluster, func(h *cluster.Host) HostStatus { return statusOf(ctx, h) }), nil
}

func statusOf(ctx context.Context, h *cluster.Host) HostStatus {
	s := HostStatus{ID: h.ID(), Address: h.Address()}
	to, err := h.Conn(ctx, 0)
	if err == nil {
		err = to.RoundTrip(ctx, &protocol.HostStatus{}, func(a *protocol.Answer) { s.read(&a.HostStatus) })
		s.Generation = to.Welcome().Generation
	}
	if err == nil {
		s.Load = loadOf(ctx, to)
	}
	s.Err = err
	return s
}

// loadOf asks a host for its load. The result is nil for a host that does not support the request or has disappeared
// since its status was read.
func loadOf(ctx context.Context, to *conn.Conn) (load *HostLoad) {
	_ = to.RoundTrip(ctx, &protocol.HostLoad{}, func(a *protocol.Answer) {
		l := &a.HostLoad
		load = &HostLoad{
			Span: conn.Millis(l.SpanMillis), Requests: l.Requests, Failed: l.Failed, P50: micros(l.P50Micros),
			P99: micros(l.P99Micros), CommitP99: micros(l.CommitP99Micros), DiskFree: l.DiskFreeBytes,
			DiskTotal: l.DiskTotalBytes,
		}
	})
	return load
}

// micros converts microseconds, to a day at most: a larger number was not measured.
func micros(n uint64) time.Duration {
	return min(time.Duration(min(n, 1<<40))*time.Microsecond, 24*time.Hour)
}

func (s *HostStatus) read(a *protocol.HostStatusAnswer) {
	s.ID, s.Name, s.Version, s.Uptime = a.HostID, string(a.HostName), string(a.Version), conn.Millis(a.UptimeMillis)
	s.Fresh, s.Connections, s.Sessions = a.Fresh, int(a.Connections), int(a.Sessions)
	for x := range a.Shards.All() {
		s.Shards = append(s.Shards, shardStatus(&x))
	}
	s.Meta = shardStatus(&a.Meta)
	s.FeatureLevel, s.NewestLevel, s.LevelHeldBy = int(a.Level.Cluster), int(a.Level.Newest), string(a.Level.HeldBy)
	s.Refusal = string(a.Refusal)
}

func shardStatus(x *protocol.ShardStatus) ShardStatus {
	return ShardStatus{
		ID: x.ID, Leader: x.LeaderHostID, Term: x.Term, AppliedIndex: x.AppliedIndex, CommitLag: x.CommitLag,
		Sessions: x.Sessions, Semaphores: x.Semaphores, Waiters: x.Waiters, Rollouts: x.Rollouts,
		Processes: x.Processes,
	}
}

// Ping makes one round trip to some host, connected already or not.
func (c *Client) Ping(ctx context.Context) error {
	ctx, op := c.begin(ctx, OpPing, "", "")
	err := c.cluster.Do(ctx, cluster.AnyHost, &protocol.Ping{}, nil)
	op.end(err)
	return failed("ping", "", err)
}

func decimal(n uint64) string { return strconv.FormatUint(n, 10) }
