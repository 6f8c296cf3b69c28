package http

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/gateway/operation"
	"github.com/signalbox/signalbox/internal/apijson"
	"github.com/signalbox/signalbox/protocol"
)

// problem is the answer to a failed or refused request, by RFC 9457.
type problem struct {
	Type   string // urn:signalbox:status: and the status in small letters
	Title  string
	Code   int    `name:"status" about:"the HTTP code"`
	Status string `name:"signalbox_status" about:"the status of the protocol"`
	Detail string
	Hint   string `about:"what to do"`
	// Wait is after how long the request may be repeated.
	Wait time.Duration `name:"retry_after" about:"after how long the same request may be sent again"`
}

// Error implements error.
func (p *problem) Error() string { return p.Detail }

// retryAfter is the wait of a problem that passes by itself, if hosts name no wait.
const retryAfter = time.Second

// problemType is the media type of a problem.
const problemType = "application/problem+json"

// outcome is the HTTP code for a status, and the advice.
type outcome struct {
	code int
	do   string
}

// outcomes has a row for every status except success.
var outcomes = map[protocol.Status]outcome{
	protocol.StatusBadRequest:         {http.StatusBadRequest, "correct the request; sent again it is refused again"},
	protocol.StatusUnauthorized:       {http.StatusForbidden, "use a token that has the right, or have it granted"},
	protocol.StatusNotFound:           {http.StatusNotFound, "check the node and the name, or create it first"},
	protocol.StatusAlreadyExists:      {http.StatusConflict, "use what is there, or take another name"},
	protocol.StatusPreconditionFailed: {http.StatusPreconditionFailed, "read it again, and decide again"},
	protocol.StatusAborted:            {http.StatusConflict, "what waited was overtaken: read it, and ask again"},
	protocol.StatusFenced:             {http.StatusConflict, "it is not yours any more: stop what depends on it"},
	protocol.StatusBadSession: {http.StatusConflict,
		"another client uses the session, or its key is wrong: start another"},
	protocol.StatusSessionExpired: {http.StatusGone,
		"what the session owned is not yours any more: stop what depends on it, and start another session"},
	protocol.StatusStale: {http.StatusConflict, "send it under a number that is above all that were used"},
	protocol.StatusMoved: {http.StatusServiceUnavailable, "send the same request again under the same number"},
	protocol.StatusUnavailable: {http.StatusServiceUnavailable,
		"the outcome is not known: a change with a number is sent again under it, others are looked at first"},
	protocol.StatusOverloaded: {http.StatusTooManyRequests, "nothing happened: send it again in a moment"},
	protocol.StatusStorageFull: {http.StatusInsufficientStorage,
		"make room on the disks of the hosts, or delete what is not needed"},
	protocol.StatusUnsupported: {http.StatusNotImplemented, "upgrade all hosts of the cluster"},
	protocol.StatusHeartbeatTimeout: {http.StatusServiceUnavailable,
		"send the same request again under the same number"},
	protocol.StatusInternal:      {http.StatusInternalServerError, "report it, with the log of the host"},
	protocol.StatusQuotaExceeded: {http.StatusForbidden, "delete something, or have the quota raised"},
	protocol.StatusSequenceReused: {http.StatusUnprocessableEntity,
		"nothing happened: send it under the next number, above all that the session has used"},
}

// refuse makes a problem found by this gateway.
func refuse(status protocol.Status, detail string) *problem {
	o := outcomes[status]
	return &problem{
		Type:  "urn:signalbox:status:" + strings.ReplaceAll(strings.ToLower(status.String()), "_", "-"),
		Title: titleOf(status), Code: o.code, Status: status.String(), Detail: detail, Hint: o.do,
	}
}

// refuseCode makes a problem of this gateway with a different code than the status has.
func refuseCode(code int, status protocol.Status, detail, do string) *problem {
	p := refuse(status, detail)
	p.Code, p.Hint = code, do
	return p
}

// titleOf writes the name of a status for people: NOT_FOUND becomes Not found.
func titleOf(status protocol.Status) string {
	words := strings.ToLower(strings.ReplaceAll(status.String(), "_", " "))
	return strings.ToUpper(words[:1]) + words[1:]
}

// problemOf makes a problem of an error of the SDK.
func problemOf(err error) *problem {
	var own *problem
	answer := &protocol.Error{Status: protocol.StatusInternal}
	switch {
	case errors.As(err, &own):
		return own
	case errors.As(err, new(operation.BadRequest)):
		answer.Status = protocol.StatusBadRequest
	case errors.Is(err, operation.ErrNoRoom):
		return noRoom()
	case errors.As(err, &answer):
	case errors.Is(err, client.ErrUnavailable), errors.Is(err, context.DeadlineExceeded),
		errors.Is(err, context.Canceled), errors.Is(err, client.ErrClosed):
		answer.Status = protocol.StatusUnavailable
	case errors.Is(err, client.ErrNotFound):
		answer.Status = protocol.StatusNotFound
	}
	p := refuse(answer.Status, operation.Plain(err))
	p.Wait = answer.Wait
	return p
}

// readProblem is problemOf for a request without a change, so a caller may always send the request again.
func readProblem(err error) *problem {
	p := *problemOf(err)
	if p.Status == protocol.StatusUnavailable.String() {
		p.Hint = "ask again; signalbox check, and GET /v1/health, say what is wrong"
	}
	return &p
}

// problemCode is the HTTP code of an error, 0 for nil.
func problemCode(err error) int {
	if err == nil {
		return 0
	}
	return problemOf(err).Code
}

// write answers with the problem.
func (p *problem) write(w http.ResponseWriter) {
	shown := *p // problems may be shared
	if shown.Wait == 0 && (p.Code == http.StatusTooManyRequests || p.Code == http.StatusServiceUnavailable) {
		shown.Wait = retryAfter
	}
	text, err := apijson.Encode(&shown)
	if err != nil {
		http.Error(w, p.Detail, http.StatusInternalServerError)
		return
	}
	if p.Code == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", `Bearer realm="signalbox"`)
	}
	if shown.Wait > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int((shown.Wait+time.Second-1)/time.Second)))
	}
	writeBody(w, p.Code, problemType, text)
}

// writeBody writes a whole answer, and forbids caches to keep the answer.
func writeBody(w http.ResponseWriter, code int, contentType string, text []byte) {
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(code)
	if _, err := w.Write(text); err == nil {
		_, _ = io.WriteString(w, "\n")
	}
}
