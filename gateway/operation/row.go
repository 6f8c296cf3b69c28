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

// Operation is a row in the table. Requests are pointers to values with type Request.
type Operation struct {
	// Path is the route path, below the HTTP API version.
	Path string
	// Kind is the kind of request sent to hosts. A caller needs the kind's right.
	Kind protocol.Kind
	// Does describes the operation in one sentence without a full stop. Group is its heading in the docs.
	Does, Group     string
	Changes         bool
	Request, Answer reflect.Type
	// Run carries the operation out. The context bounds the call.
	Run func(ctx context.Context, c *client.Client, request any) (answer any, err error)
	// Follow publishes the responses that Run would give, now and after every change, until the context ends. A read
	// operation without Follow is polled.
	Follow func(ctx context.Context, c *client.Client, request any, publish Publisher) error
	// FollowsPage means that Follow reads the whole list to return a page, and returns ErrLong if the list is longer.
	FollowsPage bool
	// All lists all items in a paged operation, from the first page to the last; nil for other operations.
	All func(ctx context.Context, c *client.Client, request any) iter.Seq2[any, error]
	// Faces are the commands for the operation.
	Faces []Face
}

// Publisher is called with a response and its revision, or 0 if the response has no revision.
type Publisher = func(revision uint64, answer any)

// call runs an operation: a client call with the request's parameters.
type call[Q, A any] = func(ctx context.Context, c *client.Client, q *Q) (A, error)

// read creates the row for a read-only operation. The request and response types are those in run.
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

// change creates the row for an operation that changes something and returns a result.
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

// govern is change for a cluster change, which may have been made before.
func govern[Q any](
	path string, kind protocol.Kind, does string, run func(context.Context, *admin.Admin, *Q) (bool, error),
	faces ...Face,
) Operation {
	return change(path, kind, does, func(ctx context.Context, c *client.Client, q *Q) (Done, error) {
		changed, err := run(ctx, admin.New(c), q)
		return Done{Changed: changed}, err
	}, faces...)
}

// given returns a list with one option or note if reason is set, and otherwise an empty list.
func given[T any](reason bool, item T) []T {
	if reason {
		return []T{item}
	}
	return nil
}

// follow makes an operation publish the states from a client watch: shown converts a state into a response and its
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

// followPage is follow for an operation that returns a page. A list longer than a page cannot be followed: shown and
// Follow then return ErrLong.
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

// group sets the operations' docs heading.
func group(name string, rows ...Operation) []Operation {
	for i := range rows {
		rows[i].Group = name
	}
	return rows
}

// All returns all rows, in docs order.
func All() []Operation {
	return slices.Concat(nodes(), semaphores(), sessions(), lookups(), rollouts(), processes(), cluster(), shards(),
		joinTokens(), access(), history(), names())
}

// None is the request for an operation without parameters.
type None struct{}

// Done is the response to a change without a result.
type Done = apijson.Done

// BadRequest says why a request cannot be carried out as written.
type BadRequest string

// Error implements error.
func (b BadRequest) Error() string { return string(b) }

// Is makes the error match the client's error for such requests.
func (b BadRequest) Is(target error) bool { return target == client.ErrBadRequest }
