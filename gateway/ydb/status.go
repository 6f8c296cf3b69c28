package ydb

import (
	"cmp"
	"context"
	"errors"

	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Issue"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Operations"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/signalbox/signalbox/protocol"
)

// accessDenied is the issue code for UNAUTHORIZED.
const accessDenied = 200_000 + 4

// statuses maps cluster statuses to YDB statuses. A missing status is INTERNAL_ERROR.
var statuses = map[protocol.Status]Ydb.StatusIds_StatusCode{
	protocol.StatusSuccess:            Ydb.StatusIds_SUCCESS,
	protocol.StatusBadRequest:         Ydb.StatusIds_BAD_REQUEST,
	protocol.StatusUnauthorized:       Ydb.StatusIds_UNAUTHORIZED,
	protocol.StatusNotFound:           Ydb.StatusIds_NOT_FOUND,
	protocol.StatusAlreadyExists:      Ydb.StatusIds_ALREADY_EXISTS,
	protocol.StatusPreconditionFailed: Ydb.StatusIds_PRECONDITION_FAILED,
	protocol.StatusAborted:            Ydb.StatusIds_ABORTED,
	protocol.StatusBadSession:         Ydb.StatusIds_BAD_SESSION,
	protocol.StatusSessionExpired:     Ydb.StatusIds_SESSION_EXPIRED,
	protocol.StatusMoved:              Ydb.StatusIds_UNAVAILABLE,
	protocol.StatusStale:              Ydb.StatusIds_UNAVAILABLE,
	protocol.StatusSequenceReused:     Ydb.StatusIds_UNAVAILABLE,
	protocol.StatusFenced:             Ydb.StatusIds_PRECONDITION_FAILED,
	protocol.StatusUnavailable:        Ydb.StatusIds_UNAVAILABLE,
	protocol.StatusOverloaded:         Ydb.StatusIds_OVERLOADED,
	protocol.StatusStorageFull:        Ydb.StatusIds_OVERLOADED,
	protocol.StatusQuotaExceeded:      Ydb.StatusIds_OVERLOADED,
	protocol.StatusUnsupported:        Ydb.StatusIds_UNSUPPORTED,
	protocol.StatusHeartbeatTimeout:   Ydb.StatusIds_TIMEOUT,
}

// failed is an error from the gateway itself, with the status for the SDK.
type failed struct {
	status  Ydb.StatusIds_StatusCode
	message string
}

func (f *failed) Error() string { return f.message }

// statusOf returns an error's status and issues.
func statusOf(err error) (Ydb.StatusIds_StatusCode, []*Ydb_Issue.IssueMessage) {
	if err == nil {
		return Ydb.StatusIds_SUCCESS, nil
	}
	var own *failed
	var answer *protocol.Error
	code := Ydb.StatusIds_INTERNAL_ERROR
	switch {
	case errors.As(err, &own):
		code = own.status
	case errors.Is(err, context.DeadlineExceeded):
		code = Ydb.StatusIds_TIMEOUT
	case errors.Is(err, protocol.ErrUnavailable), errors.Is(err, context.Canceled):
		code = Ydb.StatusIds_UNAVAILABLE
	case errors.As(err, &answer):
		code = cmp.Or(statuses[answer.Status], code)
	}
	issue := &Ydb_Issue.IssueMessage{Message: err.Error(), Severity: 1}
	if code == Ydb.StatusIds_UNAUTHORIZED {
		issue.IssueCode = accessDenied
		issue.Message = "Access denied: " + issue.Message
	}
	return code, []*Ydb_Issue.IssueMessage{issue}
}

// operation is a unary call's outcome: it contains the status, and the call itself has succeeded.
func operation(result proto.Message, err error) *Ydb_Operations.Operation {
	o := &Ydb_Operations.Operation{Ready: true}
	if err == nil && result != nil {
		o.Result, err = anypb.New(result)
	}
	o.Status, o.Issues = statusOf(err)
	return o
}
