package executor

import (
	"context"
	"errors"
	"fmt"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
	"github.com/valyala/bytebufferpool"
)

// callID is the request id of all calls: each has an exchange of its own.
const callID = 1

// Errors of effects, beside those of package shard.
var (
	// errOldTerm is of a host that has heard of a later term of the meta shard.
	errOldTerm = errors.New("executor: the term is over")
	// errRefused is of a host that does not do what it was asked.
	errRefused = errors.New("executor: refused")
)

// refusals are the statuses that stand for errors between hosts. One that is not among them is UNAVAILABLE.
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

func encodeRequest(m protocol.RequestMessage) []byte {
	var buf bytebufferpool.ByteBuffer
	protocol.NewEncoder().Request(&buf, callID, m)
	return buf.B[protocol.FrameHeaderBytes:]
}

func encodeAnswer(m protocol.AnswerMessage) []byte {
	var buf bytebufferpool.ByteBuffer
	protocol.NewEncoder().Answer(&buf, callID, m)
	return buf.B[protocol.FrameHeaderBytes:]
}

func encodeFailure(kind protocol.Kind, err error) []byte {
	result := protocol.Result{Status: protocol.StatusUnavailable, Message: err.Error()}
	for _, r := range refusals {
		if errors.Is(err, r.err) {
			result.Status = r.status
			break
		}
	}
	var buf bytebufferpool.ByteBuffer
	protocol.NewEncoder().Failure(&buf, callID, kind, &result)
	return buf.B[protocol.FrameHeaderBytes:]
}

// decodeAnswer reads the answer to a request of a kind. A refusal is an error.
func decodeAnswer(kind protocol.Kind, payload []byte) (*protocol.Answer, error) {
	a, err := protocol.NewAnswerDecoder().Decode(payload)
	switch {
	case err != nil:
		return nil, err
	case a.Kind != kind.Answer():
		return nil, fmt.Errorf("executor: %v answers %v", a.Kind, kind)
	}
	return a, refusal(&a.Result)
}

// refusal returns the error that a result stands for, nil for a success.
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

// ask has a host answer a request: this one by its agent, another one by a call.
func (e *Executor) ask(ctx context.Context, to shard.HostID, m protocol.RequestMessage) (*protocol.Answer, error) {
	request := encodeRequest(m)
	if to == e.config.Self {
		return decodeAnswer(m.Kind(), e.config.Agent.Answer(ctx, request))
	}
	payload, err := e.config.Calls.Call(ctx, to, request)
	if err != nil {
		return nil, fmt.Errorf("executor: calling host %d: %w", to, err)
	}
	return decodeAnswer(m.Kind(), payload)
}
