package executor

import (
	"context"
	"errors"
	"fmt"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/peerrpc"
	"github.com/signalbox/signalbox/shard"
)

// Errors of effects, beside the errors of package shard.
var (
	// errOldTerm comes from a host that has heard of a later term of the meta shard.
	errOldTerm = errors.New("executor: the term is over")
	// errRefused comes from a host that refuses a request.
	errRefused = errors.New("executor: refused")
)

// refusals are the statuses that stand for errors between hosts. Every other error is UNAVAILABLE.
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

// decodeAnswer reads the answer to a request of a kind. A refusal is an error.
func decodeAnswer(kind protocol.Kind, payload []byte) (*protocol.Answer, error) {
	a, err := peerrpc.Result(kind, payload)
	if err != nil {
		return nil, err
	}
	return a, refusal(&a.Result)
}

// refusal returns the error for a result, nil for a success.
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

// ask has a host answer a request: this host by its agent, every other host by a call.
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
