package operation

import (
	"context"
	"iter"
	"reflect"
	"slices"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/admin"
	"github.com/signalbox/signalbox/internal/apijson"
	"github.com/signalbox/signalbox/protocol"
)

// Operation is a row of the table. Requests are pointers to values of the type Request.
type Operation struct {
	// Path is the path of the route, below the version of the HTTP API.
	Path string
	// Kind is the kind of request that hosts get. A caller needs the right of the kind.
	Kind protocol.Kind
	// Does says in a sentence, without a point, what the operation does. Group is the heading above it in the docs.
	Does, Group     string
	Changes         bool
	Request, Answer reflect.Type
	// Run carries the operation out. The context bounds the call.
	Run func(ctx context.Context, c *client.Client, request any) (answer any, err error)
	// Follow publishes the answers that Run would give, now and after every change, until the context ends. Without
	// Follow an operation that reads is asked again and again.
	Follow func(ctx context.Context, c *client.Client, request any, publish Publisher) error
	// FollowsPage: Follow reads the whole list to answer with a page, and returns ErrLong if there is more than that.
	FollowsPage bool
	// All lists the items of an operation with pages, from the first page to the last; nil for other operations.
	All func(ctx context.Context, c *client.Client, request any) iter.Seq2[any, error]
	// Faces are the commands for the operation.
	Faces []Face
}

// Publisher is called with an answer and the revision of the answer, 0 where an answer has no revision.
type Publisher = func(revision uint64, answer any)

// call carries out an operation: a call of the client with what the request says.
type call[Q, A any] = func(ctx context.Context, c *client.Client, q *Q) (A, error)

// read makes the row of an operation that changes nothing. The types of the request and the answer are those of run.
func read[Q, A any](
	path string, kind protocol.Kind, does string, run call[Q, A], faces ...Face,
) Operation {
	return Operation{
		Path: path, Kind: kind, Does: does, Faces: faces, Request: reflect.TypeFor[Q](), Answer: reflect.TypeFor[A](),
		Run: func(ctx context.Context, c *client.Client, request any) (any, error) {
			return run(ctx, c, request.(*Q))
		},
	}
}

// change makes the row of an operation that changes something and answers with a result.
func change[Q, A any](
	path string, kind protocol.Kind, does string, run call[Q, A], faces ...Face,
) Operation {
	o := read(path, kind, does, run, faces...)
	o.Changes = true
	return o
}

// apply is change for a change without a result, which either happens or fails.
func apply[Q any](
	path string, kind protocol.Kind, does string, run func(context.Context, *client.Client, *Q) error, faces ...Face,
) Operation {
	return change(path, kind, does, func(ctx context.Context, c *client.Client, q *Q) (Done, error) {
		return Done{Changed: true}, run(ctx, c, q)
	}, faces...)
}

// govern is change for a change of the cluster, which may have been made before.
func govern[Q any](
	path string, kind protocol.Kind, does string, run func(context.Context, *admin.Admin, *Q) (bool, error),
	faces ...Face,
) Operation {
	return change(path, kind, does, func(ctx context.Context, c *client.Client, q *Q) (Done, error) {
		changed, err := run(ctx, admin.New(c), q)
		return Done{Changed: changed}, err
	}, faces...)
}

// given is a list of one option, or of one note, if there is a reason for it, and otherwise an empty list.
func given[T any](reason bool, item T) []T {
	if reason {
		return []T{item}
	}
	return nil
}

// follow has an operation publish the states of a watch of the client: shown makes an answer of a state, with the
// revision.
func follow[Q, T any](
	o Operation, watch func(context.Context, *client.Client, *Q) iter.Seq2[T, error], shown func(T) (uint64, any),
) Operation {
	o.Follow = func(ctx context.Context, c *client.Client, request any, publish Publisher) error {
		for state, err := range watch(ctx, c, request.(*Q)) {
			if err != nil {
				return err
			}
			publish(shown(state))
		}
		return ctx.Err()
	}
	return o
}

// followPage is follow for an operation that answers with a page. A list that is longer than a page cannot be followed:
// shown and Follow return ErrLong then.
func followPage[Q, T any](
	o Operation, watch func(context.Context, *client.Client, *Q) iter.Seq2[T, error],
	shown func(*Q, T) (revision uint64, answer any, err error),
) Operation {
	o.FollowsPage = true
	o.Follow = func(ctx context.Context, c *client.Client, request any, publish Publisher) error {
		q := request.(*Q)
		for state, err := range watch(ctx, c, q) {
			if err != nil {
				return err
			}
			revision, answer, err := shown(q, state)
			if err != nil {
				return err
			}
			publish(revision, answer)
		}
		return ctx.Err()
	}
	return o
}

// group says which heading operations stand under in the docs.
func group(name string, rows ...Operation) []Operation {
	for i := range rows {
		rows[i].Group = name
	}
	return rows
}

// All returns all rows, in the order of the docs.
func All() []Operation {
	return slices.Concat(nodes(), semaphores(), sessions(), lookups(), rollouts(), processes(), cluster(), joinTokens(),
		access(), history(), names())
}

// None is the request of an operation without parameters.
type None struct{}

// Done is the answer of a change without a result.
type Done = apijson.Done

// BadRequest says why a request cannot be carried out as written.
type BadRequest string

// Error implements error.
func (b BadRequest) Error() string { return string(b) }

// Is makes the error equal to the client's error for such requests.
func (b BadRequest) Is(target error) bool { return target == client.ErrBadRequest }
