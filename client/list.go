package client

import (
	"cmp"
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

// A node's semaphores and sessions are spread over the shards. A list reads pages from all shards, and is sorted. Pages
// show different moments: objects added or removed during the list may be missing.

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

// After limits the list to names after the given name, so a list can be read in sections.
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

// Semaphores lists the node's semaphores, sorted by name.
func (n *Node) Semaphores(ctx context.Context, options ...ListOption) iter.Seq2[*SemaphoreInfo, error] {
	config := option.Apply(&listConfig{}, options)
	name := func(s *SemaphoreInfo) string { return s.Name }
	return listNode(ctx, n, "list semaphores in", cluster.NearLeader, config.after, name,
		func(id uint64, p cluster.Part[string]) (protocol.ListMessage, reader[SemaphoreInfo, string]) {
			m := &protocol.SemaphoreList{
				NodeID: id, Prefix: protocol.View(config.prefix), After: []byte(p.After),
				Limit: p.Limit, IncludeData: config.data, Consistency: protocol.Consistency(config.consistency),
				ListSlots: p.Slots,
			}
			return m, func(a *protocol.Answer) (page cluster.Page[*SemaphoreInfo, string]) {
				for s := range a.SemaphoreList.Semaphores.All() {
					info := semaphoreInfo(&s, string(s.Name))
					info.Data = slices.Clone(s.Data)
					page.Items = append(page.Items, &info)
				}
				page.Next, page.Missing = string(a.SemaphoreList.Next), a.SemaphoreList.Missing
				return page
			}
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

// Sessions lists the node's sessions, sorted by id.
func (n *Node) Sessions(ctx context.Context, options ...ListOption) iter.Seq2[*SessionInfo, error] {
	config := option.Apply(&listConfig{}, options)
	id := func(s *SessionInfo) uint64 { return s.ID }
	return listNode(ctx, n, "list sessions in", cluster.LeaderAt, config.session, id,
		func(node uint64, p cluster.Part[uint64]) (protocol.ListMessage, reader[SessionInfo, uint64]) {
			m := &protocol.SessionList{NodeID: node, After: p.After, Limit: p.Limit, ListSlots: p.Slots}
			return m, func(a *protocol.Answer) (page cluster.Page[*SessionInfo, uint64]) {
				for s := range a.SessionList.Sessions.All() {
					page.Items = append(page.Items, sessionInfo(&s))
				}
				page.Next, page.Missing = a.SessionList.Next, a.SessionList.Missing
				return page
			}
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

// Holdings lists everything that a session owns and waits for, sorted by order id.
func (c *Client) Holdings(ctx context.Context, sessionID uint64, options ...HoldingsOption) iter.Seq2[*Holding, error] {
	order := func(h *Holding) uint64 { return h.OrderID }
	all := cluster.List(ctx, c.cluster, cluster.NearLeader, 0, order,
		func(p cluster.Part[uint64]) (protocol.ListMessage, reader[Holding, uint64]) {
			m := option.Apply(&protocol.SessionHoldings{
				SessionID: sessionID, After: p.After, Limit: p.Limit, ListSlots: p.Slots,
			}, options)
			return m, func(a *protocol.Answer) (page cluster.Page[*Holding, uint64]) {
				for h := range a.SessionHoldings.Holdings.All() {
					page.Items = append(page.Items, holding(h))
				}
				page.Next, page.Missing = a.SessionHoldings.Next, a.SessionHoldings.Missing
				return page
			}
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

// reader reads a page of a list.
type reader[T any, K cmp.Ordered] = func(a *protocol.Answer) cluster.Page[*T, K]

// listNode lists what a node has after a key.
func listNode[T any, K cmp.Ordered](
	ctx context.Context, n *Node, what string, near func(slot uint16) cluster.Target, after K, key func(*T) K,
	ask func(id uint64, p cluster.Part[K]) (protocol.ListMessage, reader[T, K]),
) iter.Seq2[*T, error] {
	all := func(yield func(*T, error) bool) {
		id, err := n.id(ctx, true)
		if err != nil {
			yield(nil, err)
			return
		}
		cluster.List(ctx, n.client.cluster, near, after, key,
			func(p cluster.Part[K]) (protocol.ListMessage, reader[T, K]) { return ask(id, p) })(yield)
	}
	return failure.InLoop(all, func(err error) error { return failedNode(what, n.path, err) })
}
