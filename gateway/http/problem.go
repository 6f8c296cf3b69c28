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
	Type   string `omit:"never" about:"urn:signalbox:status: followed by the status in small letters"`
	Title  string `omit:"never"`
	Code   int    `omit:"never" name:"status" about:"HTTP status code"`
	Status string `omit:"never" name:"signalbox_status" about:"Status of the Signalbox protocol"`
	Detail string `omit:"never"`
	Hint   string `omit:"never" about:"Remedy"`
	// Wait is after how long the request may be repeated.
	Wait time.Duration `name:"retry_after" about:"Time after which the same request may be sent again"`
}

// Error implements error.
func (p *problem) Error() string { return p.Detail }

// retryAfter is the default retry delay for a temporary problem.
const retryAfter = time.Second

// problemType is the media type for problems.
const problemType = "application/problem+json"

// outcome is the HTTP code for a status, and the advice.
type outcome struct {
	code int
	do   string
}

// outcomes has a row for every status except success.
var outcomes = map[protocol.Status]outcome{
	protocol.StatusBadRequest: {http.StatusBadRequest, "correct the request before sending it again"},
	protocol.StatusUnauthorized: {http.StatusForbidden, "use a token with the permission, or ask an " +
		"administrator to grant it"},
	protocol.StatusNotFound:           {http.StatusNotFound, "check the node and the name, or create it first"},
	protocol.StatusAlreadyExists:      {http.StatusConflict, "use the existing object, or choose another name"},
	protocol.StatusPreconditionFailed: {http.StatusPreconditionFailed, "read the object again, and decide again"},
	protocol.StatusAborted: {http.StatusConflict, "a newer request replaced the waiting request; read " +
		"the object, and send the request again"},
	protocol.StatusFenced: {http.StatusConflict, "the ownership is lost; stop the work that depends on it"},
	protocol.StatusBadSession: {http.StatusConflict,
		"another client uses the session, or the session key is wrong; start another session"},
	protocol.StatusSessionExpired: {http.StatusGone,
		"all holdings of the session are lost; stop the work that depends on them, and start another session"},
	protocol.StatusStale: {http.StatusConflict, "send the request with a sequence number above all used numbers"},
	protocol.StatusMoved: {http.StatusServiceUnavailable, "send the same request again with the same sequence number"},
	protocol.StatusUnavailable: {http.StatusServiceUnavailable,
		"the outcome is unknown; repeat a change with a sequence number under the same number, and check the " +
			"state before repeating any other change"},
	protocol.StatusOverloaded: {http.StatusTooManyRequests, "nothing happened; send the request again later"},
	protocol.StatusStorageFull: {http.StatusInsufficientStorage,
		"free disk space on the hosts, or delete unused objects"},
	protocol.StatusUnsupported: {http.StatusNotImplemented, "upgrade all cluster hosts"},
	protocol.StatusHeartbeatTimeout: {http.StatusServiceUnavailable,
		"send the same request again with the same sequence number"},
	protocol.StatusInternal:      {http.StatusInternalServerError, "report the bug, with the host's log"},
	protocol.StatusQuotaExceeded: {http.StatusForbidden, "delete objects, or ask an operator to raise the quota"},
	protocol.StatusSequenceReused: {http.StatusUnprocessableEntity,
		"nothing happened; send the request with the next sequence number, above all numbers used by the session"},
}

// refuse creates a problem detected by this gateway.
func refuse(status protocol.Status, detail string) *problem {
	o := outcomes[status]
	return &problem{
		Type:  "urn:signalbox:status:" + strings.ReplaceAll(strings.ToLower(status.String()), "_", "-"),
		Title: titleOf(status), Code: o.code, Status: status.String(), Detail: detail, Hint: o.do,
	}
}

// refuseCode creates a gateway problem whose code differs from the status's code.
func refuseCode(code int, status protocol.Status, detail, do string) *problem {
	p := refuse(status, detail)
	p.Code, p.Hint = code, do
	return p
}

// titleOf returns a status's display name: NOT_FOUND becomes Not found.
func titleOf(status protocol.Status) string {
	words := strings.ToLower(strings.ReplaceAll(status.String(), "_", " "))
	return strings.ToUpper(words[:1]) + words[1:]
}

// problemOf converts an SDK error into a problem.
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
		p.Hint = "send the request again; signalbox check and GET /v1/health show the cause"
	}
	return &p
}

// problemCode returns an error's HTTP code, or 0 for nil.
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
