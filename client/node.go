package client

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/signalbox/signalbox/client/internal/cluster"
	"github.com/signalbox/signalbox/client/internal/conn"
	"github.com/signalbox/signalbox/client/internal/failure"
	"github.com/signalbox/signalbox/client/internal/option"
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/field"
)

// NodeConfig configures a node. A zero field is unset: CreateNode uses the host's default, and AlterNode keeps the
// current value.
type NodeConfig struct {
	// SelfCheckPeriod is how often a leader verifies its leadership.
	SelfCheckPeriod time.Duration
	// SessionGracePeriod extends session timeouts when a leader changes. It must be greater than SelfCheckPeriod.
	SessionGracePeriod time.Duration
	// ReadConsistency is the default mode for reads, AttachConsistency the mode for sessions that reattach.
	ReadConsistency   Consistency
	AttachConsistency Consistency
	// MetricsLevel says how finely metrics count.
	MetricsLevel MetricsLevel `name:"metrics_level"`
	// QuotaObjects is the maximum number of semaphores in the node per shard. QuotaBytes is the maximum size in bytes
	// per shard, including all data for these semaphores. A change beyond a quota fails with ErrQuotaExceeded.
	QuotaObjects uint64
	QuotaBytes   uint64
	// LongWaitThreshold is how long a session may wait for a semaphore of the node before the wait is a health issue,
	// see admin.HealthIssues; if LongWaitThreshold is below zero, no wait is a health issue. If it is not set, the
	// hosts' default applies, and the issue is for information only.
	LongWaitThreshold time.Duration `name:"long_wait_threshold"`
}

// NodeInfo describes a node.
type NodeInfo struct {
	// ID is the permanent node id: a path that is dropped and created again gets a new id.
	ID     uint64
	Path   string `omit:"never"`
	Config NodeConfig
	// ConfigVersion grows with every config change.
	ConfigVersion uint64 `name:"config_revision" omit:"never"`
	// Existed is set by CreateNode if the node already existed and was not changed. In a cluster below feature level 4,
	// if a response was lost, an earlier attempt in the same call may have created the node.
	Existed bool
}

func (c *NodeConfig) wire() protocol.NodeConfig {
	return protocol.NodeConfig{
		SelfCheckPeriodMillis:    uint64(c.SelfCheckPeriod / time.Millisecond),
		SessionGracePeriodMillis: uint64(c.SessionGracePeriod / time.Millisecond),
		ReadConsistency:          protocol.Consistency(c.ReadConsistency),
		AttachConsistency:        protocol.Consistency(c.AttachConsistency),
		RateLimiterCountersMode:  protocol.CountersMode(c.MetricsLevel),
		QuotaObjects:             c.QuotaObjects,
		QuotaBytes:               c.QuotaBytes,
		LongestWaitMillis:        orForever(c.LongWaitThreshold),
	}
}

// orForever converts a duration to milliseconds; a negative duration means forever.
func orForever(d time.Duration) uint64 {
	if d < 0 {
		return protocol.Forever
	}
	return field.MillisOf(d)
}

// unlessForever is the inverse of orForever.
func unlessForever(millis uint64) time.Duration {
	if millis == protocol.Forever {
		return -1
	}
	return conn.Millis(millis)
}

func (c *NodeConfig) validate() error {
	if c.SelfCheckPeriod < 0 || c.SessionGracePeriod < 0 {
		return failure.BadRequest("a period must not be negative")
	}
	return nil
}

// checkPath rejects an invalid node path before a host is asked.
func checkPath(path string) error {
	if path == "" || len(path) > protocol.MaxPathBytes {
		return failure.BadRequest(fmt.Sprintf("the path has %d bytes, but must have 1 to "+
			"%d", len(path), protocol.MaxPathBytes))
	}
	return nil
}

func nodeInfo(n *protocol.Node) *NodeInfo {
	return &NodeInfo{
		ID: n.ID, Path: string(n.Path), ConfigVersion: n.ConfigVersion,
		Config: NodeConfig{
			SelfCheckPeriod:    conn.Millis(n.Config.SelfCheckPeriodMillis),
			SessionGracePeriod: conn.Millis(n.Config.SessionGracePeriodMillis),
			ReadConsistency:    Consistency(n.Config.ReadConsistency),
			AttachConsistency:  Consistency(n.Config.AttachConsistency),
			MetricsLevel:       MetricsLevel(n.Config.RateLimiterCountersMode),
			QuotaObjects:       n.Config.QuotaObjects,
			QuotaBytes:         n.Config.QuotaBytes,
			LongWaitThreshold:  unlessForever(n.Config.LongestWaitMillis),
		},
	}
}

// CreateNode creates a node. If the path exists, its node is returned unchanged, with Existed: so a program may call
// CreateNode whenever the program starts. A call for an existing node needs no more than the right to read the node;
// to create a node takes the role admin.
func (c *Client) CreateNode(ctx context.Context, path string, config NodeConfig) (*NodeInfo, error) {
	if err := cmp.Or(checkPath(path), config.validate()); err != nil {
		return nil, failedNode("create node", path, err)
	}
	var n *NodeInfo
	m := &protocol.NodeCreate{Path: protocol.View(path), Config: config.wire()}
	ctx, op := c.begin(ctx, OpCreateNode, path, "")
	err := c.cluster.DoNumbered(ctx, cluster.MetaLeader, m, &m.Idempotency, func(a *protocol.Answer) uint64 {
		n = nodeInfo(&a.NodeCreate.Node)
		n.Existed = a.NodeCreate.Existed
		return a.NodeCreate.Since
	})
	if err == nil && !n.Existed {
		err = config.checkLater(n)
	}
	op.end(err)
	return n, failedNode("create node", path, err)
}

// DescribeNode describes a node.
func (c *Client) DescribeNode(ctx context.Context, path string) (*NodeInfo, error) {
	ctx, op := c.begin(ctx, OpDescribeNode, path, "")
	n, err := c.describeNode(ctx, path)
	op.end(err)
	return n, failedNode("describe node", path, err)
}

func (c *Client) describeNode(ctx context.Context, path string) (n *NodeInfo, err error) {
	if err := checkPath(path); err != nil {
		return nil, err
	}
	err = c.cluster.Do(ctx, cluster.MetaLeader, &protocol.NodeDescribe{Path: protocol.View(path)},
		func(a *protocol.Answer) {
			n = nodeInfo(&a.NodeDescribe.Node)
		})
	return n, missing(ErrNodeNotFound, err)
}

// AlterOption guards a node change.
type AlterOption func(*alterConfig)

type alterConfig struct{ version uint64 }

// IfConfigRevision makes the change conditional on the config version. For any other version, AlterNode fails with
// ErrPreconditionFailed.
func IfConfigRevision(configVersion uint64) AlterOption {
	return func(g *alterConfig) { g.version = configVersion }
}

// AlterNode changes the fields that are set in config and keeps the rest.
func (c *Client) AlterNode(
	ctx context.Context, path string, config NodeConfig, options ...AlterOption,
) (*NodeInfo, error) {
	if err := cmp.Or(checkPath(path), config.validate()); err != nil {
		return nil, failedNode("alter node", path, err)
	}
	g := option.Apply(&alterConfig{}, options)
	var n *NodeInfo
	m := &protocol.NodeAlter{Path: protocol.View(path), Config: config.wire(), ConfigVersion: g.version}
	ctx, op := c.begin(ctx, OpAlterNode, path, "")
	err := c.cluster.DoNumbered(ctx, cluster.MetaLeader, m, &m.Idempotency, func(a *protocol.Answer) uint64 {
		n = nodeInfo(&a.NodeAlter.Node)
		return a.NodeAlter.Since
	})
	if err == nil {
		err = config.checkLater(n)
	}
	op.end(err)
	return n, failedNode("alter node", path, err)
}

// DropNode removes a node and all its semaphores, and ends its sessions, even if the node is in use.
func (c *Client) DropNode(ctx context.Context, path string) error {
	ctx, op := c.begin(ctx, OpDropNode, path, "")
	n, err := c.describeNode(ctx, path)
	if err == nil {
		// With the id, the drop cannot hit a node created after the description.
		m := &protocol.NodeDrop{Path: protocol.View(path), NodeID: n.ID}
		err = c.cluster.DoNumbered(ctx, cluster.MetaLeader, m, &m.Idempotency, func(a *protocol.Answer) uint64 {
			return a.NodeDrop.Since
		})
	}
	op.end(err)
	return failedNode("drop node", path, err)
}

// ListNodes lists all nodes whose paths start with prefix, byte by byte, sorted by path.
func (c *Client) ListNodes(ctx context.Context, prefix string) iter.Seq2[*NodeInfo, error] {
	return func(yield func(*NodeInfo, error) bool) {
		m := &protocol.NodeList{Prefix: protocol.View(prefix)}
		read := func(a *protocol.Answer) (page []*NodeInfo, more bool) {
			for n := range a.NodeList.Nodes.All() {
				page = append(page, nodeInfo(&n))
			}
			m.After = slices.Clone(a.NodeList.Next)
			return page, len(m.After) > 0
		}
		all := cluster.Pages(ctx, c.cluster, cluster.MetaLeader, m, read)
		failure.InLoop(all, func(err error) error {
			if prefix == "" {
				return failed("list nodes", "", err)
			}
			return failed("list nodes under", prefix, err)
		})(yield)
	}
}

// Consistency says how fresh an answer must be.
type Consistency uint8

const (
	// Strict answers include every change acknowledged before the request. A strict read costs a network round trip
	// among the hosts.
	Strict = Consistency(protocol.ConsistencyStrict)
	// Relaxed answers come from the memory of a host that was recently up to date.
	Relaxed = Consistency(protocol.ConsistencyRelaxed)
)

// String returns the mode's name as in the docs.
func (c Consistency) String() string { return protocol.Consistency(c).String() }

// MetricsLevel is the detail level for a node's metrics.
type MetricsLevel uint8

const (
	// Aggregated counts by semaphore. It is the default for a node without a configured mode, but by default it omits
	// ephemeral semaphores.
	Aggregated = MetricsLevel(protocol.CountersAggregated)
	// Detailed counts by owner too.
	Detailed = MetricsLevel(protocol.CountersDetailed)
)

// String returns the mode's name as in the docs.
func (m MetricsLevel) String() string { return protocol.CountersMode(m).String() }
