package admin

import (
	"context"
	"strconv"
	"strings"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/internal/cluster"
	"github.com/signalbox/signalbox/client/internal/core"
	"github.com/signalbox/signalbox/client/internal/failure"
	"github.com/signalbox/signalbox/protocol"
)

// Kinds of admin operations that hooks report.
const (
	OpHealth         client.OperationKind = "read_health_issues"
	OpTraffic        client.OperationKind = "read_traffic"
	OpDescribe       client.OperationKind = "describe_cluster"
	OpPlan           client.OperationKind = "plan_cluster"
	OpWhy            client.OperationKind = "why_cluster"
	OpHost           client.OperationKind = "operate_host"
	OpTransfer       client.OperationKind = "transfer_shard"
	OpRecover        client.OperationKind = "recover_shard"
	OpSlots          client.OperationKind = "list_slots"
	OpMoveSlot       client.OperationKind = "move_slot"
	OpCancelSlotMove client.OperationKind = "cancel_slot_move"
	OpRebalancing    client.OperationKind = "describe_rebalancing"
	OpRebalance      client.OperationKind = "rebalance"
	OpAddShards      client.OperationKind = "add_shards"
	OpRemoveShards   client.OperationKind = "remove_shards"
	OpWeighShard     client.OperationKind = "set_shard_weight"
	OpCancel         client.OperationKind = "cancel_step"
	OpRetry          client.OperationKind = "retry_step"
	OpPolicy         client.OperationKind = "set_policy"
	OpAudit          client.OperationKind = "read_audit"
	OpCreateToken    client.OperationKind = "create_join_token"
	OpRevokeToken    client.OperationKind = "revoke_join_token"
	OpListTokens     client.OperationKind = "list_join_tokens"
)

// Admin operates one cluster. An Admin is safe for concurrent use.
type Admin struct{ core core.Client }

// New returns an Admin for the client's cluster.
func New(c *client.Client) *Admin { return &Admin{core.Of(c)} }

// ChangeInfo records the author and the reason in the audit log.
type ChangeInfo struct{ Author, Reason string }

func (c ChangeInfo) operation() protocol.Operation {
	return protocol.Operation{Author: protocol.View(c.Author), Reason: protocol.View(c.Reason)}
}

// read sends a read-only request.
func (a *Admin) read(ctx context.Context, op client.OperationKind, to cluster.Target, m protocol.RequestMessage,
	read func(*protocol.Answer),
) error {
	err := a.core.Do(ctx, string(op), "", func(ctx context.Context) error {
		return a.core.Cluster().Do(ctx, to, m, read)
	})
	return failed(op, "", err)
}

// change applies a request exactly once. read returns a number from the response that later requests continue from.
func (a *Admin) change(ctx context.Context, op client.OperationKind, name string, m protocol.RequestMessage,
	o *protocol.Operation, read func(*protocol.Answer) (since uint64),
) error {
	err := a.core.Do(ctx, string(op), name, func(ctx context.Context) error {
		return a.core.Cluster().DoNumbered(ctx, cluster.MetaLeader, m, &o.Idempotency, read)
	})
	return failed(op, name, err)
}

func failed(op client.OperationKind, subject string, err error) error {
	return failure.Of("admin", strings.ReplaceAll(string(op), "_", " "), subject, err)
}

// number formats a number as the subject of an error.
func number(n uint64) string { return strconv.FormatUint(n, 10) }
