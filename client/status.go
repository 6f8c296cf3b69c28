package client

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/signalbox/signalbox/client/internal/cluster"
	"github.com/signalbox/signalbox/client/internal/conn"
	"github.com/signalbox/signalbox/protocol"
)

// HostStatus is how a host of the cluster is.
type HostStatus struct {
	// ID and Address are the host's as the client knows it; ID is 0 for one that has never been met.
	ID      uint64
	Address string
	// Err says that the host did not answer; what follows is zero then.
	Err error

	Name    string
	Version string
	Uptime  time.Duration
	// Fresh: the host knew lately that it leads every shard that it believes to lead, of those that have sessions.
	Fresh       bool
	Connections int
	Sessions    int // attached over those connections
	Shards      []ShardStatus
	// Meta is the shard that knows nodes, hosts and routing. Its Term is 0 where the host does not say.
	Meta ShardStatus
	// FeatureLevel is the level of the cluster as the host knows it, NewestLevel the highest that its build can follow;
	// both are 0 where the host does not say. LevelHeldBy names the hosts that keep the level from rising, and is empty
	// where none does.
	FeatureLevel int
	NewestLevel  int
	LevelHeldBy  string
	// Generation counts how often the cluster that the host is of was made of a backup, or of what a lost majority had
	// left. Sessions and fencing tokens of an earlier one are good for nothing in it.
	Generation uint64
	// Refusal says why the host refuses changes that do not free room: its disk is nearly full, or where it leads those
	// of too many others. It is empty where it takes them.
	Refusal string
	// Load is what the host did when it last measured itself; nil from a host that does not say, such as one of an
	// earlier build.
	Load *HostLoad
}

// HostLoad is what a host did while it was measured. Requests are counted, so that those of many hosts add up.
type HostLoad struct {
	Span     time.Duration // how long it was measured; 0 where the host does not know yet
	Requests uint64        // that it answered in that time
	Failed   uint64        // of them, with an error
	// P50 and P99 are how long an answer took: the median, and of all but one in a hundred.
	P50 time.Duration
	P99 time.Duration
	// CommitP99 is how long a batch of changes took to take effect, of all but one in a hundred.
	CommitP99 time.Duration
	// DiskFree and DiskTotal are bytes of the file system of its data; both are 0 where the host does not say.
	DiskFree  uint64
	DiskTotal uint64
}

// PerSecond is how many requests the host answered a second, and how many of them with an error.
func (l *HostLoad) PerSecond() (requests, failed float64) {
	if l.Span <= 0 {
		return 0, 0
	}
	return float64(l.Requests) / l.Span.Seconds(), float64(l.Failed) / l.Span.Seconds()
}

// ShardStatus is how a shard is on one of its hosts.
type ShardStatus struct {
	ID           uint64
	Leader       uint64 // id of the host that leads; 0 where it is not known
	Term         uint64
	AppliedIndex uint64 // of the last log entry that has taken effect here
	CommitLag    uint64 // entries known to be committed that have not
	Sessions     uint64
	Semaphores   uint64
	Waiters      uint64
	Rollouts     uint64
	Processes    uint64
}

// Status asks all hosts that the client knows how they are. A host that does not answer is in the list with
// its error. Status itself fails only if the routing cannot be asked for.
func (c *Client) Status(ctx context.Context) ([]HostStatus, error) {
	if err := c.scope.Usable(); err != nil {
		return nil, failed("status", "", err)
	}
	if err := c.cluster.Refresh(ctx); err != nil {
		return nil, failed("status", "", err)
	}
	hosts := c.cluster.Hosts()
	list := make([]HostStatus, len(hosts))
	var all sync.WaitGroup
	for i, h := range hosts {
		all.Go(func() { list[i] = statusOf(ctx, h) })
	}
	all.Wait()
	// One that was given by another name than its own turns out to be in the list already.
	seen := make(map[uint64]bool)
	return slices.DeleteFunc(list, func(s HostStatus) bool {
		again := s.ID != 0 && seen[s.ID]
		seen[s.ID] = true
		return again
	}), nil
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

// loadOf asks a host for its load. One that is too old for the question, or is gone since it was asked how it is, says
// nothing.
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

// micros is so many microseconds, at most a day: a number that is larger was not measured.
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
