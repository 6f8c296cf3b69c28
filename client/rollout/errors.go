package rollout

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/internal/failure"
)

// Errors that this package reports, to be tested for with errors.Is. Refusals of a host are errors of package client.
var (
	// ErrNotFound: no rollout has the name, or the rollout does not have the given location, gate or version. The
	// error is client.ErrNotFound too.
	ErrNotFound = errors.New("there is no such rollout, or no such part of it")
	// ErrLeft: the member, or the source, has ended its part.
	ErrLeft = errors.New("it takes part no more")
	// ErrSuperseded: the location has another target, or no target.
	ErrSuperseded = errors.New("the target has been superseded")
)

// failed puts the operation and the subject in front of an error.
func failed(operation client.OperationKind, name string, err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, client.ErrNotFound) && !errors.Is(err, client.ErrNodeNotFound) && !errors.Is(err, ErrNotFound) {
		err = fmt.Errorf("%w: %w", ErrNotFound, err)
	}
	verb := strings.TrimPrefix(string(operation), "rollout_")
	return failure.Of("rollout", verb, strconv.Quote(name), err)
}

// isFinal reports whether no other program can mend an error, or the context has ended.
func isFinal(ctx context.Context, err error) bool {
	return err != nil && (ctx.Err() != nil || errors.Is(err, client.ErrBadRequest) ||
		errors.Is(err, client.ErrUnauthorized) || errors.Is(err, client.ErrUnsupported) ||
		errors.Is(err, client.ErrNodeNotFound) || errors.Is(err, client.ErrClosed))
}
