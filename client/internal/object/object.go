package object

import (
	"context"
	"errors"
	"iter"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/internal/cluster"
	"github.com/signalbox/signalbox/client/internal/core"
	"github.com/signalbox/signalbox/client/internal/session"
	"github.com/signalbox/signalbox/client/internal/view"
	"github.com/signalbox/signalbox/protocol"
)

// Object is a name in a node; the object need not exist. An Object is safe for concurrent use.
type Object struct {
	Name    string
	Node    core.Node
	Session core.Session // nil for use without a session
}

// Of returns the named object in the node at path, for use without a session.
func Of(c *client.Client, path, name string) Object {
	return Object{Name: name, Node: core.Of(c.Node(path))}
}

// In returns the named object in the session's node.
func In(s *client.Session, name string) Object {
	session := core.Of(s)
	return Object{Name: name, Node: session.Node(), Session: session}
}

// Key names an object in a message.
type Key struct {
	Node uint64
	Name []byte
}

// Slot returns the object's slot.
func (k Key) Slot() uint16 { return protocol.SemaphoreSlot(k.Node, k.Name) }

// KeyOf returns the key for an object in a session's node.
func KeyOf(in *session.Incarnation, name string) Key {
	return Key{in.NodeID(), protocol.View(name)}
}

// Mutation creates a request that changes the object.
type Mutation func(Key) protocol.MutationMessage

// Change applies a change, by the session if there is one. read copies data out of the response.
func (o *Object) Change(
	ctx context.Context, operation client.OperationKind, message Mutation, read func(a *protocol.Answer),
) error {
	if o.Session != nil {
		return o.Session.Do(ctx, string(operation), o.Name,
			func(ctx context.Context, in *session.Incarnation) error {
				return Mutate(ctx, in, o.Name, message, read)
			})
	}
	return o.Node.Do(ctx, string(operation), o.Name, func(ctx context.Context, node uint64) error {
		k := Key{node, protocol.View(o.Name)}
		return o.Node.Client().Cluster().DoOnce(ctx, cluster.LeaderAt(k.Slot()), message(k), read)
	})
}

// Mutate carries out a change by an incarnation.
func Mutate(
	ctx context.Context, in *session.Incarnation, name string, message Mutation, read func(a *protocol.Answer),
) error {
	return in.Mutate(ctx, name, message(KeyOf(in, name)), read)
}

// Alter changes a spec with the function change, and retries once if another operator was faster. read returns the
// current spec and its revision. put replaces the spec if the revision still matches.
func Alter[S any](
	read func() (spec S, revision uint64, err error), change func(spec *S) error,
	put func(spec *S, revision uint64) error,
) error {
	for {
		spec, revision, err := read()
		if err == nil {
			err = change(&spec)
		}
		if err != nil {
			return err
		}
		if err = put(&spec, revision); !errors.Is(err, client.ErrPreconditionFailed) {
			return err
		}
		if _, now, readErr := read(); readErr != nil || now == revision {
			return err // no other operator was faster
		}
	}
}

// Read sends a read-only request to the leader of the object's shard if the leader is reachable, because the leader has
// the latest changes from all clients.
func (o *Object) Read(
	ctx context.Context, operation client.OperationKind, message func(Key) protocol.RequestMessage,
	read func(a *protocol.Answer),
) error {
	return o.Node.Do(ctx, string(operation), o.Name, func(ctx context.Context, node uint64) error {
		k := Key{node, protocol.View(o.Name)}
		return o.Node.Client().Cluster().Do(ctx, cluster.NearLeader(k.Slot()), message(k), read)
	})
}

// Views returns the views of an object section, current view first. The loop ends with an error.
func (o *Object) Views(ctx context.Context, kind protocol.ObjectKind, part string) iter.Seq2[*view.View, error] {
	return func(yield func(*view.View, error) bool) {
		id, err := o.Node.ID(ctx)
		if err != nil {
			yield(nil, err)
			return
		}
		o.Node.Client().Watches().Views(ctx, view.Key{Node: id, Name: o.Name, Kind: kind, View: part})(yield)
	}
}
