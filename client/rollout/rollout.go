package rollout

import (
	"context"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/internal/cluster"
	"github.com/signalbox/signalbox/client/internal/door"
	"github.com/signalbox/signalbox/client/internal/incarnation"
	"github.com/signalbox/signalbox/protocol"
)

// Rollout is a rollout as operators and publishers use it: a name, which need not exist. Making one asks no host. It is
// safe for use by many goroutines.
type Rollout struct {
	name    string
	node    door.Node
	session door.Session // nil where it is used without one
}

// Of returns the rollout of that name in the node of that path, for use without a session. Its changes are not
// protected against being carried out twice: where the outcome of a try is not known they fail with
// client.ErrUnavailable, and are not tried again.
func Of(c *client.Client, path, name string) *Rollout {
	return &Rollout{name: name, node: door.OfNode(c.Node(path))}
}

// In returns the rollout of that name in the session's node. Its changes are carried out once, whatever happens to
// connections and hosts, for as long as the session goes on.
func In(s *client.Session, name string) *Rollout {
	session := door.OfSession(s)
	return &Rollout{name: name, node: session.Node(), session: session}
}

// Name returns the name of the rollout.
func (r *Rollout) Name() string { return r.name }

// object names the rollout in a message.
type object struct {
	node uint64
	name []byte
}

// mutation makes a request that changes the rollout, and returns the numbers within it.
type mutation func(object) (protocol.RequestMessage, *protocol.Mutation)

// change carries a change out: by the session, where there is one. read copies what is wanted out of the answer.
func (r *Rollout) change(
	ctx context.Context, operation client.OperationKind, message mutation, read func(a *protocol.Answer),
) error {
	var err error
	if r.session != nil {
		err = r.session.Do(ctx, string(operation), r.name,
			func(ctx context.Context, in *incarnation.Incarnation) error {
				return mutate(ctx, in, r.name, message, read)
			})
	} else {
		err = r.node.Do(ctx, string(operation), r.name, func(ctx context.Context, node uint64) error {
			o := object{node, protocol.View(r.name)}
			m, _ := message(o)
			return r.node.Client().Cluster.DoOnce(ctx, cluster.LeaderAt(o.slot()), m, read)
		})
	}
	return failed(operation, r.name, err)
}

func (o object) slot() uint16 { return protocol.SemaphoreSlot(o.node, o.name) }

// mutate carries a change out by an incarnation.
func mutate(
	ctx context.Context, in *incarnation.Incarnation, name string, message mutation, read func(a *protocol.Answer),
) error {
	m, numbers := message(object{in.NodeID(), protocol.View(name)})
	return in.Mutate(ctx, name, m, numbers, read)
}

// read carries a request out that changes nothing, at the leader of the rollout's shard where that can be reached: it
// has what this client and others have changed a moment ago.
func (r *Rollout) read(
	ctx context.Context, operation client.OperationKind, message func(object) protocol.RequestMessage,
	read func(a *protocol.Answer),
) error {
	err := r.node.Do(ctx, string(operation), r.name, func(ctx context.Context, node uint64) error {
		o := object{node, protocol.View(r.name)}
		return r.node.Client().Cluster.Do(ctx, cluster.NearLeader(o.slot()), message(o), read)
	})
	return failed(operation, r.name, err)
}

// The kinds of operations on rollouts that hooks see.
const (
	OpPut      client.OperationKind = "rollout_put"
	OpDelete   client.OperationKind = "rollout_delete"
	OpPublish  client.OperationKind = "rollout_publish"
	OpSource   client.OperationKind = "rollout_source"
	OpOffer    client.OperationKind = "rollout_offer"
	OpJoin     client.OperationKind = "rollout_join"
	OpLeave    client.OperationKind = "rollout_leave"
	OpReport   client.OperationKind = "rollout_report" // of an instance's role too
	OpAsk      client.OperationKind = "rollout_ask"
	OpAct      client.OperationKind = "rollout_act"
	OpGate     client.OperationKind = "rollout_gate"
	OpDescribe client.OperationKind = "rollout_describe"
	OpPlan     client.OperationKind = "rollout_plan"
)
