package operation

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"strconv"
	"strings"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/process"
	"github.com/signalbox/signalbox/client/rollout"
	"github.com/signalbox/signalbox/internal/apijson"
	"github.com/signalbox/signalbox/protocol"
)

// nodeRequest is about a node and its config.
type nodeRequest struct {
	NodeRef
	Config client.NodeConfig `about:"Omitted fields are unchanged, or have their defaults in a new node"`
}

// alterRequest changes a config. With IfRevision the request fails after a concurrent change by another caller.
type alterRequest struct {
	nodeRequest
	IfRevision uint64 `about:"Change only if the config has this revision"`
}

// nodes are the operations on nodes.
func nodes() []Operation {
	return group("Nodes",
		pages("/nodes", protocol.KindNodeList, "Lists nodes in path order",
			func(ctx context.Context, c *client.Client, q *Paged, behind place) iter.Seq2[*client.NodeInfo, error] {
				return kept(c.ListNodes(ctx, q.Prefix), func(n *client.NodeInfo) bool { return n.Path > behind.node })
			},
			func(n *client.NodeInfo) place { return place{node: n.Path} }),
		read("/node", protocol.KindNodeDescribe, "Describes a node",
			func(ctx context.Context, c *client.Client, q *NodeRef) (*client.NodeInfo, error) {
				return c.DescribeNode(ctx, q.Node)
			}),
		change("/node/create", protocol.KindNodeCreate, "Creates a node; an existing node is returned unchanged",
			func(ctx context.Context, c *client.Client, q *nodeRequest) (*client.NodeInfo, error) {
				return c.CreateNode(ctx, q.Node, q.Config)
			}),
		change("/node/alter", protocol.KindNodeAlter, "Changes the given fields of a node's config",
			func(ctx context.Context, c *client.Client, q *alterRequest) (*client.NodeInfo, error) {
				return c.AlterNode(ctx, q.Node, q.Config, given(q.IfRevision > 0,
					client.IfConfigRevision(q.IfRevision))...)
			}),
		apply("/node/drop", protocol.KindNodeDrop, "Drops a node and all objects in it",
			func(ctx context.Context, c *client.Client, q *NodeRef) error { return c.DropNode(ctx, q.Node) },
			Face{
				Use: "node drop PATH", Short: "Drop a node with everything in it",
				Long: `Drops a node with its objects, and ends its sessions: lock owners in the node lose their
locks. Nodes below its path stay. A node in use is not protected, so the command prints
the node's content, names the nodes below that stay, and asks for confirmation unless
--yes is given.`,
				Example: `  signalbox node drop /test/jobs

  # in a script
  signalbox node drop /test/jobs --yes`,
				Done:    "node PATH is dropped",
				Confirm: confirm(droppedWith),
			}),
	)
}

// Limits for the confirmation prompt before a node is dropped.
const (
	// countMost is the maximum count.
	countMost = 10_000
	// nodesNamed is how many nodes below the path are named; further nodes are counted.
	nodesNamed = 3
)

// droppedWith describes the content of a node, and the nodes below its path, which stay.
func droppedWith(ctx context.Context, c *client.Client, q *NodeRef) (string, error) {
	n, err := c.DescribeNode(ctx, q.Node)
	if err != nil {
		return "", err
	}
	semaphores, err := counted(c.Node(n.Path).Semaphores(ctx), "semaphore")
	rollouts, failed := counted(rollout.List(ctx, c, n.Path), "rollout")
	processes, wrong := counted(process.List(ctx, c, n.Path), "process")
	sessions, unknown := counted(c.Node(n.Path).Sessions(ctx), "session")
	stay, unlisted := nodesBelow(ctx, c, n.Path)
	return fmt.Sprintf("this drops node %s with %s, %s, %s and %s%s", n.Path, semaphores, rollouts, processes,
		sessions, stay), cmp.Or(err, failed, wrong, unknown, unlisted)
}

// nodesBelow names the nodes below a path; the result is empty if there are none.
func nodesBelow(ctx context.Context, c *client.Client, path string) (string, error) {
	var named []string
	n := 0
	for node, err := range c.ListNodes(ctx, strings.TrimSuffix(path, "/")+"/") {
		if err != nil {
			return "", err
		}
		if node.Path == path {
			continue
		}
		if n++; n <= nodesNamed {
			named = append(named, node.Path)
		}
		if n == countMost {
			break
		}
	}
	switch more := n - len(named); {
	case n == 0:
		return "", nil
	case n == countMost:
		return fmt.Sprintf("; more than %d nodes below stay: %s and others", countMost-1,
			strings.Join(named, ", ")), nil
	case more > 0:
		return fmt.Sprintf("; %d nodes below stay: %s and %d more", n, strings.Join(named, ", "), more), nil
	case n == 1:
		return "; node " + named[0] + " below stays", nil
	}
	return "; nodes " + strings.Join(named, ", ") + " below stay", nil
}

// counted counts a list's items, and returns the number in words.
func counted[T any](list iter.Seq2[T, error], noun string) (string, error) {
	n := 0
	for _, err := range list {
		if err != nil {
			return "", err
		}
		if n++; n > countMost {
			return "more than " + Plural(countMost, noun), nil
		}
	}
	return Plural(n, noun), nil
}

// sessionRequest names a session. Session ids are unique in the cluster, so no node is needed.
type sessionRequest struct {
	ID uint64 `need:"true" about:"Session id"`
}

// HeldSession is a session with everything that it owns and waits for.
type HeldSession struct {
	client.SessionInfo
	Holdings     []*client.Holding
	MoreHoldings bool `about:"The session has more holdings than are listed"`
}

// sessionsRequest asks for one node's or all nodes' sessions.
type sessionsRequest struct {
	Node string `arg:"PATH" about:"Only objects in this node"`
	Page
}

func (s *sessionsRequest) node() string { return s.Node }

// sessions are the operations on all clients' sessions.
func sessions() []Operation {
	return group("Sessions",
		overNodes("/sessions", protocol.KindSessionList, "Lists sessions in one node, or in all nodes",
			func(ctx context.Context, c *client.Client, _ *sessionsRequest, node, after string,
			) iter.Seq2[*client.SessionInfo, error] {
				id, _ := strconv.ParseUint(after, 10, 64)
				return c.Node(node).Sessions(ctx, client.AfterSession(id))
			},
			func(s *client.SessionInfo) string { return strconv.FormatUint(s.ID, 10) },
			Face{
				Use: "session list [PATH]", Short: "List the sessions in a node, or in all nodes",
				Long: `Lists the sessions in a node, or, without PATH, in all nodes that you may see: whether a
connection is attached, how many semaphores the session owns and waits for, age, and
client address. A session without a connection expires after its timeout. -o wide adds
the client name.`,
				Example: `  signalbox session list /prod/jobs
  signalbox session list -o wide

  # those without a connection
  signalbox session list /prod/jobs -o json | jq 'select(.attached | not)'`,
				Table: table(func(p apijson.InNode[*client.SessionInfo]) []any {
					s := p.Item
					return []any{p.Node, s.ID, s.Attached, s.Owned, s.Waiting, s.Timeout, s.Since, s.Client.Address,
						ClientText(s.Client), s.Description}
				}, "+NODE", "SESSION#", "ATTACHED", "OWNS#", "WAITS#", "TIMEOUT#", "SINCE", "FROM", "+CLIENT",
					"DESCRIPTION"),
			}),
		read("/session", protocol.KindSessionDescribe, "Describes a session, its holdings and its waits",
			func(ctx context.Context, c *client.Client, q *sessionRequest) (*HeldSession, error) {
				info, err := c.DescribeSession(ctx, q.ID)
				if err != nil {
					return nil, err
				}
				held, err := collect(ctx, c.Holdings(ctx, q.ID), defaultPage, nil)
				return &HeldSession{*info, held.Items, held.More}, err
			}),
		apply("/session/destroy", protocol.KindSessionDestroy, "Ends any client's session and releases its holdings",
			func(ctx context.Context, c *client.Client, q *sessionRequest) error {
				return c.DestroySession(ctx, q.ID)
			}),
	)
}
