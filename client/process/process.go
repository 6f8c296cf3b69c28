package process

import (
	"context"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/internal/object"
	"github.com/signalbox/signalbox/client/internal/retry"
	"github.com/signalbox/signalbox/protocol"
)

// again is the backoff between attempts to join again. A failure that removed one member has usually removed many.
var again = retry.Backoff{First: 50 * time.Millisecond, Most: 5 * time.Second}

// Process is an operator's handle for a named process, which need not exist. Creating a handle does not contact a host.
// A Process is safe for concurrent use.
type Process struct{ object object.Object }

// New returns a handle for the named process in the node at path, for use without a session. Changes are not retried if
// the outcome is unknown, because they could be applied twice; they fail with client.ErrUnavailable instead.
func New(c *client.Client, path, name string) *Process { return &Process{object.Of(c, path, name)} }

// NewInSession returns the process of a name in the session's node. Changes are carried out once, whatever happens to
// connections and hosts, for as long as the session goes on.
func NewInSession(s *client.Session, name string) *Process { return &Process{object.In(s, name)} }

// Name returns the process name.
func (p *Process) Name() string { return p.object.Name }

// change applies a change, by the session if there is one.
func (p *Process) change(
	ctx context.Context, operation client.OperationKind, message object.Mutation, read func(a *protocol.Answer),
) error {
	return failed(operation, p.Name(), p.object.Change(ctx, operation, message, read))
}

// Kinds of process operations that hooks report.
const (
	OpPut         client.OperationKind = "process_put"
	OpDelete      client.OperationKind = "process_delete"
	OpAction      client.OperationKind = "process_action"
	OpJoin        client.OperationKind = "process_join"
	OpLeave       client.OperationKind = "process_leave"
	OpPrepareAck  client.OperationKind = "process_prepare_ack"
	OpSend        client.OperationKind = "process_send" // up to the host's answer; without the wait for replies
	OpReply       client.OperationKind = "process_reply"
	OpComplete    client.OperationKind = "process_complete"
	OpCompleteAck client.OperationKind = "process_complete_ack"
	OpFail        client.OperationKind = "process_fail"
	OpAck         client.OperationKind = "process_ack"
	OpDescribe    client.OperationKind = "process_describe"
)
