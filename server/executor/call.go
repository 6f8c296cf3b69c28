package executor

import (
	"context"
	"errors"
	"fmt"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/peerrpc"
	"github.com/signalbox/signalbox/shard"
)

// Errors from effects, in addition to the errors in package shard.
var (
	// errOldTerm: the asked host knows a later meta shard term.
	errOldTerm = errors.New("executor: the term is over")
	// errRefused: the asked host refuses the request.
	errRefused = errors.New("executor: refused")
)

// refusals maps errors to statuses between hosts. Any other error is UNAVAILABLE.
var refusals = []struct {
	err    error
	status protocol.Status
}{
	{errOldTerm, protocol.StatusStale},
	{shard.ErrOtherMembership, protocol.StatusFenced},
	{shard.ErrMembershipUnknown, protocol.StatusUnavailable},
	{shard.ErrNotLeader, protocol.StatusMoved},
	{shard.ErrMembershipRule, protocol.StatusPreconditionFailed},
	{shard.ErrLogBusy, protocol.StatusOverloaded},
	{shard.ErrNotMember, protocol.StatusNotFound},
	{errRefused, protocol.StatusBadRequest},
}

func encodeFailure(kind protocol.Kind, err error) []byte {
	result := protocol.Result{Status: protocol.StatusUnavailable, Message: err.Error()}
	for _, r := range refusals {
		if errors.Is(err, r.err) {
			result.Status = r.status
			break
		}
	}
	return peerrpc.Failure(kind, result)
}

// decodeAnswer decodes the answer to a request kind. A refusal becomes an error.
func decodeAnswer(kind protocol.Kind, payload []byte) (*protocol.Answer, error) {
	a, err := peerrpc.Result(kind, payload)
	if err != nil {
		return nil, err
	}
	return a, refusal(&a.Result)
}

// refusal returns the error for a result, nil if successful.
func refusal(r *protocol.Result) error {
	if r.Status == protocol.StatusSuccess {
		return nil
	}
	for _, known := range refusals {
		if known.status == r.Status {
			return fmt.Errorf("%w (%s)", known.err, r.Message)
		}
	}
	return fmt.Errorf("%w: %v (%s)", errRefused, r.Status, r.Message)
}

// ask sends a request to a host, or to the local agent if the host is this one.
func (e *Executor) ask(ctx context.Context, to shard.HostID, m protocol.RequestMessage) (*protocol.Answer, error) {
	request := peerrpc.Request(m)
	if to == e.config.Self {
		return decodeAnswer(m.Kind(), e.config.Agent.Answer(ctx, request))
	}
	payload, err := e.config.Calls.Call(ctx, to, request)
	if err != nil {
		return nil, fmt.Errorf("executor: calling host %d: %w", to, err)
	}
	return decodeAnswer(m.Kind(), payload)
}
