package loadgen

import (
	"context"
	"errors"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/protocol"
)

var (
	// errNotSeen: a change was made, and a watcher did not see it.
	errNotSeen = errors.New("not everybody who watches has seen the change in time")
	// errBroke: a watch ended unexpectedly.
	errBroke = errors.New("a watch broke off")
)

// notStarted counts operations in an open loop that were due but never begun.
const notStarted = "NOT_STARTED"

// localStatuses are the names for errors that do not come from a host.
var localStatuses = []struct {
	err  error
	name string
}{
	{errNotSeen, "NOT_SEEN"},
	{errBroke, "WATCH_BROKE"},
	{client.ErrNotAcquired, "NOT_ACQUIRED"},
	{client.ErrLeaseLost, "LEASE_LOST"},
	{client.ErrSessionExpired, protocol.StatusSessionExpired.String()},
	{client.ErrSessionClosed, "SESSION_CLOSED"},
	{client.ErrUnavailable, protocol.StatusUnavailable.String()},
	{client.ErrClosed, "CLIENT_CLOSED"},
	{context.DeadlineExceeded, "DEADLINE"},
	{context.Canceled, "CANCELED"},
}

// statusOf names a failed operation's outcome: the status from a host, or a name in a similar form.
func statusOf(err error) string {
	if answered, ok := errors.AsType[*protocol.Error](err); ok {
		return answered.Status.String()
	}
	for _, s := range localStatuses {
		if errors.Is(err, s.err) {
			return s.name
		}
	}
	return "OTHER"
}
