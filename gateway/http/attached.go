package http

import (
	"context"
	"encoding/hex"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/raw"
	"github.com/signalbox/signalbox/protocol"
)

// Headers for session requests.
const (
	sessionHeader      = "Signalbox-Session"
	sequenceHeader     = "Signalbox-Sequence"
	acknowledgedHeader = "Signalbox-Acknowledged"
)

// attached is a session during one request. The caller may count its session time only from a request's start; the host
// renews the session while the request runs, by an attach or by a ping's answer.
type attached struct {
	*raw.Session
	call    *call
	stay    *stay
	fresh   bool       // attached by this request
	renewed chan error // gets the ping's outcome; nil if the attach renews
}

// credentials returns the text with which a caller names its session and proves ownership.
func credentials(id uint64, key []byte) string {
	return strconv.FormatUint(id, 10) + "." + hex.EncodeToString(key)
}

// parseCredentials parses credentials.
func parseCredentials(text string) (id uint64, key []byte, err error) {
	number, secret, _ := strings.Cut(text, ".")
	id, err = strconv.ParseUint(number, 10, 64)
	if err == nil {
		key, err = hex.DecodeString(secret)
	}
	if err != nil || id == 0 || len(key) != protocol.MaxSecretBytes {
		return 0, nil, refuse(protocol.StatusBadRequest, "the header "+sessionHeader+
			" is missing or is not the session returned by /v1/session/create")
	}
	return id, key, nil
}

// attach takes a request's session until leave is called. Either the session has stayed attached since an earlier
// request with the same key, or the session's host attaches the session and compares the key.
func (c *call) attach(ctx context.Context) (*attached, error) {
	id, key, err := parseCredentials(c.r.Header.Get(sessionHeader))
	if err != nil {
		return nil, err
	}
	st, err := c.gateway.stays.take(ctx, c.caller, id)
	if err != nil {
		return nil, err
	}
	a := &attached{call: c, stay: st}
	if st.opens(key) {
		renewed := make(chan error, 1)
		a.Session, a.renewed, st.began = st.session, renewed, time.Now()
		a.Renew(func(err error) { renewed <- err })
		return a, nil
	}
	if err := a.attachAnew(ctx, key); err != nil {
		st.leave()
		return nil, err
	}
	return a, nil
}

// attachAnew attaches and so renews the session.
func (a *attached) attachAnew(ctx context.Context, key []byte) error {
	began := time.Now()
	s, err := a.call.caller.raw.Attach(ctx, a.stay.key.session,
		raw.Params{Key: key, KeepSettings: true, OnEnd: a.stay.over})
	if err != nil {
		return err
	}
	a.Session, a.fresh, a.renewed = s, true, nil
	a.stay.sit(s, key, began)
	return nil
}

// lost reports whether the session had stayed attached before this request and is now detached, though it may be alive.
func (a *attached) lost() bool {
	why := a.Err()
	return !a.fresh && why != nil && !errors.Is(why, client.ErrSessionExpired)
}

// do sends a session request, and repeats the request if it turns out that the gateway no longer had the session
// attached. Because of its number, the request still takes effect only once.
func (a *attached) do(ctx context.Context, m protocol.RequestMessage, read func(*protocol.Answer)) error {
	err := a.Do(ctx, m, read, nil)
	if err == nil || !a.lost() {
		return err
	}
	if err := a.attachAnew(ctx, a.stay.secret); err != nil {
		return err
	}
	return a.Do(ctx, m, read, nil)
}

// awaitRenewal waits until the host has renewed the session. No response that the caller relies on may be sent earlier.
func (a *attached) awaitRenewal(ctx context.Context) error {
	if a.renewed == nil {
		return nil
	}
	select {
	case err := <-a.renewed:
		if err == nil || !a.lost() {
			return err
		}
		return a.attachAnew(ctx, a.stay.secret)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// withSession calls a function with the request's session attached. The function's time limit is how long a request may
// keep a session attached whose caller may have left.
func (c *call) withSession(ctx context.Context, f func(context.Context, *attached) error) error {
	a, err := c.attach(ctx)
	if err != nil {
		return err
	}
	defer a.stay.leave()
	ctx, cancel := context.WithTimeout(ctx, min(callTimeout, max(a.Timeout(), minTimeout)/pollParts))
	defer cancel()
	err = f(ctx, a)
	if lost := a.awaitRenewal(ctx); lost != nil {
		err = lost
	}
	if ctx.Err() != nil {
		a.stay.drop() // request work may still be in progress
	}
	if errors.Is(err, client.ErrBadSession) {
		return errUsedElsewhere
	}
	return err
}

var errUsedElsewhere = refuse(protocol.StatusUnavailable,
	"another request used the session through another host meanwhile")

// leaps are offsets from this host's clock for mutation numbers. They are used for requests without a number, after a
// number was below one already used by the session, because host clocks differ.
var leaps = []time.Duration{0, time.Minute, time.Hour, 24 * time.Hour, 30 * 24 * time.Hour}

// mutation is a change by a session.
type mutation struct {
	name    string // of the semaphore
	message func(protocol.Mutation) protocol.RequestMessage
	read    func(*protocol.Answer)
	// doubtful reports whether the answer may belong to a number acknowledged before. May be nil.
	doubtful func() bool
}

// change makes a session mutation, with the request's number or a number from the clock.
func (a *attached) change(ctx context.Context, h http.Header, m mutation) error {
	number, err := headerNumber(h, sequenceHeader)
	if err != nil {
		return err
	}
	acknowledged, err := headerNumber(h, acknowledgedHeader)
	if err != nil {
		return err
	}
	if number == 0 {
		return a.changeByClock(ctx, m)
	}
	if h.Get(acknowledgedHeader) == "" {
		acknowledged = number - 1
	}
	return a.do(ctx, m.message(protocol.Mutation{Sequence: number, AcknowledgedSequence: acknowledged}), m.read)
}

func (a *attached) changeByClock(ctx context.Context, m mutation) (err error) {
	for _, leap := range leaps {
		number := max(uint64(time.Now().Add(leap).UnixMicro()), a.stay.number+1)
		a.stay.number = number + 1 // probe may use the second number
		err = a.do(ctx, m.message(protocol.Mutation{Sequence: number, AcknowledgedSequence: number - 1}), m.read)
		if err == nil && m.doubtful != nil && m.doubtful() {
			err = a.probe(ctx, m.name, number+1)
		}
		if !stale(err) {
			return err
		}
	}
	return err
}

// noFence is an order id that no owner has.
const noFence = 1<<64 - 1

// probe finds out whether the session has used a higher number, by releasing a semaphore that the session cannot own:
// an acquire does not reveal higher numbers.
func (a *attached) probe(ctx context.Context, name string, number uint64) error {
	m := protocol.Mutation{Sequence: number, AcknowledgedSequence: number - 1}
	err := a.do(ctx, &protocol.Release{Mutation: m, Name: []byte(name), OrderID: noFence}, nil)
	if errors.Is(err, client.ErrFenced) || errors.Is(err, client.ErrNotFound) {
		return nil
	}
	return err
}

// stale reports whether nothing was done because the number was below the session's numbers, or was used.
func stale(err error) bool {
	answer, ok := errors.AsType[*protocol.Error](err)
	return ok && (answer.Status == protocol.StatusStale || answer.Status == protocol.StatusSequenceReused)
}

// headerNumber reads a header with a whole number, 0 for a missing header.
func headerNumber(h http.Header, name string) (uint64, error) {
	text := h.Get(name)
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, refuse(protocol.StatusBadRequest, "the header "+name+" is not a whole number")
	}
	return n, nil
}
