package client

import (
	"context"
	"iter"
	"slices"
	"strconv"
	"time"

	"github.com/signalbox/signalbox/client/internal/cluster"
	"github.com/signalbox/signalbox/client/internal/conn"
	"github.com/signalbox/signalbox/client/internal/failure"
	"github.com/signalbox/signalbox/client/internal/option"
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/session"
)

// A node's semaphores and sessions are spread over the shards. A list visits the shards in sequence, so lists are
// sorted only within each shard. Pages show different moments: objects added or removed during the list may be missing.

// ListOption configures a semaphore list. Session lists only take AfterSession.
type ListOption func(*listConfig)

type listConfig struct {
	prefix      string
	after       string
	session     uint64
	data        bool
	consistency Consistency
}

// Prefix limits the list to semaphores whose names start with prefix, byte by byte.
func Prefix(prefix string) ListOption {
	return func(c *listConfig) { c.prefix = prefix }
}

// After limits the list to semaphores after the given name's position, so a list can be read in sections. The name need
// not exist any more.
func After(name string) ListOption {
	return func(c *listConfig) { c.after = name }
}

// AfterSession is After for a session list.
func AfterSession(id uint64) ListOption {
	return func(c *listConfig) { c.session = id }
}

// WithData asks for the semaphores' data.
func WithData() ListOption {
	return func(c *listConfig) { c.data = true }
}

// ListConsistency sets the read consistency and overrides the node's configured mode.
func ListConsistency(mode Consistency) ListOption {
	return func(c *listConfig) { c.consistency = mode }
}

// Semaphores lists the node's semaphores.
func (n *Node) Semaphores(ctx context.Context, options ...ListOption) iter.Seq2[*SemaphoreInfo, error] {
	config := option.Apply(&listConfig{}, options)
	begin := func(id uint64) (shard uint64) {
		if config.after != "" {
			shard, _ = n.client.cluster.ShardAt(protocol.SemaphoreSlot(id, []byte(config.after)))
		}
		return shard
	}
	return listNode(ctx, n, "list semaphores in", begin, func(id, shard uint64) list[SemaphoreInfo] {
		m := &protocol.SemaphoreList{
			NodeID: id, ShardID: shard, Prefix: protocol.View(config.prefix), IncludeData: config.data,
			Consistency: protocol.Consistency(config.consistency),
		}
		if shard == begin(id) {
			m.After = []byte(config.after)
		}
		read := func(a *protocol.Answer) (page []*SemaphoreInfo, more bool) {
			for s := range a.SemaphoreList.Semaphores.All() {
				info := semaphoreInfo(&s, string(s.Name))
				info.Data = slices.Clone(s.Data)
				page = append(page, &info)
			}
			m.After = slices.Clone(a.SemaphoreList.Next)
			return page, len(m.After) > 0
		}
		return cluster.Pages(ctx, n.client.cluster, cluster.NearShardLeader(shard), m, read)
	})
}

// SessionInfo is a session as listings show sessions.
type SessionInfo struct {
	ID      uint64
	NodeID  uint64        `omit:"never"`
	Timeout time.Duration `omit:"never"`
	session.Details
	// Attached: some connection holds the session.
	Attached bool
	// Owned and Waiting are the numbers of semaphores that the session owns units of or waits for, in all shards whose
	// hosts could be asked.
	Owned   int
	Waiting int
	// Since is when the session was created, by a host's wall clock; zero if the host does not know. Client is the
	// client that holds the session, or else the client that last created or changed the session. Both are
	// informational.
	Since  time.Time
	Client ClientInfo
}

func sessionInfo(s *protocol.Session) *SessionInfo {
	return &SessionInfo{
		ID: s.ID, NodeID: s.NodeID, Timeout: conn.Millis(s.TimeoutMillis), Details: s.Details,
		Attached: s.Attached, Owned: int(s.Owned), Waiting: int(s.Waiting),
		Since: moment(s.SinceMillis), Client: clientInfo(&s.Client),
	}
}

// Sessions lists the node's sessions.
func (n *Node) Sessions(ctx context.Context, options ...ListOption) iter.Seq2[*SessionInfo, error] {
	config := option.Apply(&listConfig{}, options)
	begin := func(uint64) (shard uint64) {
		if config.session != 0 {
			shard, _ = n.client.cluster.ShardAt(protocol.SessionSlot(config.session))
		}
		return shard
	}
	return listNode(ctx, n, "list sessions in", begin, func(id, shard uint64) list[SessionInfo] {
		m := &protocol.SessionList{NodeID: id, ShardID: shard}
		if shard == begin(id) {
			m.After = config.session
		}
		read := func(a *protocol.Answer) (page []*SessionInfo, more bool) {
			for s := range a.SessionList.Sessions.All() {
				page = append(page, sessionInfo(&s))
			}
			m.After = a.SessionList.Next
			return page, m.After != 0
		}
		return cluster.Pages(ctx, n.client.cluster, cluster.ShardLeader(shard), m, read)
	})
}

// DescribeSession describes a session in any node.
func (c *Client) DescribeSession(ctx context.Context, id uint64) (*SessionInfo, error) {
	var s *SessionInfo
	m := &protocol.SessionDescribe{SessionID: id}
	ctx, op := c.begin(ctx, OpDescribeSession, "", "")
	err := c.cluster.Do(ctx, cluster.LeaderAt(protocol.SessionSlot(id)), m, func(a *protocol.Answer) {
		s = sessionInfo(&a.SessionDescribe.Session)
	})
	op.end(err)
	return s, failed("describe session", decimal(id), err)
}

// DestroySession ends any client's session: everything that the session owns becomes free, and its client is notified.
// Destroying an ended session is not an error.
func (c *Client) DestroySession(ctx context.Context, id uint64) error {
	m := &protocol.SessionDestroy{SessionID: id}
	ctx, op := c.begin(ctx, OpDestroySession, "", "")
	err := c.cluster.Do(ctx, cluster.LeaderAt(protocol.SessionSlot(id)), m, nil)
	if failure.Status(err) == protocol.StatusSessionExpired {
		err = nil
	}
	op.end(err)
	return failed("destroy session", decimal(id), err)
}

// Holding is a session's units or waiting position in a semaphore, or its holding in another object kind.
type Holding struct {
	Name string `omit:"never"`
	// Kind is the object kind: "semaphore", "rollout", "process", or "kind-" and a number if this client has no name
	// for the kind.
	Kind string `omit:"never"`
	// Role is the session's role in the object: "owner" or "waiter" for a semaphore; "follower", "leader", "source", or
	// two of these for a rollout.
	Role    string
	OrderID uint64
	Count   uint64
	// Waiting: the session waits for the semaphore.
	Waiting bool
	// Since is when the session began to own, or to wait, by the wall clock of a host; the zero time if the host does
	// not know.
	Since time.Time
}

// HoldingsOption configures how holdings are read.
type HoldingsOption func(*protocol.SessionHoldings)

// HoldingsConsistency asks for STRICT: the list has every change from before the call. By default a host may answer if
// the host was shown to be up to date within its grace period.
func HoldingsConsistency(mode Consistency) HoldingsOption {
	return func(m *protocol.SessionHoldings) { m.Consistency = protocol.Consistency(mode) }
}

// Holdings lists everything that a session owns and waits for.
func (c *Client) Holdings(ctx context.Context, sessionID uint64, options ...HoldingsOption) iter.Seq2[*Holding, error] {
	all := shardLists(c, 0, func(shard uint64) list[Holding] {
		m := option.Apply(&protocol.SessionHoldings{SessionID: sessionID, ShardID: shard}, options)
		read := func(a *protocol.Answer) (page []*Holding, more bool) {
			for h := range a.SessionHoldings.Holdings.All() {
				page = append(page, holding(h))
			}
			m.After = a.SessionHoldings.Next
			return page, m.After != 0
		}
		return cluster.Pages(ctx, c.cluster, cluster.NearShardLeader(shard), m, read)
	})
	return failure.InLoop(all, func(err error) error {
		return failed("list the holdings of session", decimal(sessionID), err)
	})
}

func holding(h protocol.Holding) *Holding {
	out := &Holding{
		Name: string(h.Name), Kind: "semaphore", Role: string(h.Role), OrderID: h.OrderID, Count: h.Count,
		Waiting: h.Waiting, Since: moment(h.SinceMillis),
	}
	switch {
	case h.ObjectKind == protocol.ObjectRollout:
		out.Kind = "rollout"
	case h.ObjectKind == protocol.ObjectProcess:
		out.Kind = "process"
	case !h.ObjectKind.IsSemaphore():
		out.Kind = "kind-" + strconv.Itoa(int(h.ObjectKind))
	case h.Waiting:
		out.Role = "waiter"
	default:
		out.Role = "owner"
	}
	return out
}

// list is a list whose items a loop gets one by one. An error is the last item of the loop.
type list[T any] = iter.Seq2[*T, error]

// listNode joins a node's lists from all data shards, starting with the shard that begin returns; 0 means the first
// shard.
func listNode[T any](
	ctx context.Context, n *Node, what string, begin func(id uint64) uint64, of func(id, shard uint64) list[T],
) list[T] {
	all := func(yield func(*T, error) bool) {
		id, err := n.id(ctx, true)
		if err != nil {
			yield(nil, err)
			return
		}
		shardLists(n.client, begin(id), func(shard uint64) list[T] { return of(id, shard) })(yield)
	}
	return failure.InLoop(all, func(err error) error { return failedNode(what, n.path, err) })
}

// shardLists joins the lists from the data shards, starting with the given shard; 0 means the first shard.
func shardLists[T any](c *Client, from uint64, of func(shard uint64) list[T]) list[T] {
	return func(yield func(*T, error) bool) {
		shards := c.cluster.DataShards()
		for _, shard := range shards[max(0, slices.Index(shards, from)):] {
			for item, err := range of(shard) {
				if !yield(item, err) || err != nil {
					return
				}
			}
		}
	}
}
