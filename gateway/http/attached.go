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

// The headers of requests by a session.
const (
	sessionHeader      = "Signalbox-Session"
	numberHeader       = "Signalbox-Number"
	acknowledgedHeader = "Signalbox-Acknowledged"
)

// detachTimeout is how long a request tries to detach its session. Where it cannot, the end of the connection does.
const detachTimeout = 5 * time.Second

// attached is a session for the time of one request. Between requests it is attached nowhere, so that nothing but the
// start of a request keeps it alive.
type attached struct {
	*raw.Session
	info  *client.SessionInfo
	began time.Time // before the attach was sent
	end   func()    // of its turn
}

// credentials are how a caller names its session, and shows that it is its own.
func credentials(id uint64, key []byte) string {
	return strconv.FormatUint(id, 10) + "." + hex.EncodeToString(key)
}

// parseCredentials reads what credentials has written.
func parseCredentials(text string) (id uint64, key []byte, err error) {
	number, secret, _ := strings.Cut(text, ".")
	id, err = strconv.ParseUint(number, 10, 64)
	if err == nil {
		key, err = hex.DecodeString(secret)
	}
	if err != nil || id == 0 || len(key) != protocol.MaxKeyBytes {
		return 0, nil, refuse(protocol.StatusBadRequest, "the header "+sessionHeader+
			" is missing, or is not what the start of a session has answered as session")
	}
	return id, key, nil
}

// attach attaches the session of a request, until detach is called.
func (c *call) attach(ctx context.Context) (_ *attached, err error) {
	id, key, err := parseCredentials(c.r.Header.Get(sessionHeader))
	if err != nil {
		return nil, err
	}
	a := &attached{}
	if a.end, err = c.caller.turns.take(ctx, id); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			a.end()
		}
	}()
	if a.info, err = c.caller.DescribeSession(ctx, id); err != nil {
		return nil, err
	}
	a.began = time.Now()
	a.Session, err = c.caller.raw.Attach(ctx, id, raw.Params{
		Timeout: a.info.Timeout, Description: a.info.Description, Key: key, Over: func(error) {},
	})
	return a, err
}

// detach ends what attach began. The session stays alive for what is left of its timeout since then.
func (a *attached) detach() {
	defer a.end()
	ctx, cancel := context.WithTimeout(context.Background(), detachTimeout)
	defer cancel()
	// Where no host answers, the session is detached with the connection.
	_ = a.Detach(ctx, max(a.info.Timeout-time.Since(a.began), time.Millisecond))
}

// withSession calls a function with the session of the request attached.
func (c *call) withSession(ctx context.Context, f func(*attached) error) error {
	a, err := c.attach(ctx)
	if err != nil {
		return err
	}
	defer a.detach()
	if err = f(a); errors.Is(err, client.ErrBadSession) {
		return refuse(protocol.StatusUnavailable, "another request has used the session meanwhile, by another host")
	}
	return err
}

// leaps are how far ahead of this host's clock the number of a mutation is, where the request gives none and an earlier
// one was behind what the session has used: clocks of hosts differ.
var leaps = []time.Duration{0, time.Minute, time.Hour, 24 * time.Hour, 30 * 24 * time.Hour}

// mutation is a change by a session.
type mutation struct {
	name    string // of the semaphore
	message func(protocol.Mutation) protocol.RequestMessage
	read    func(*protocol.Answer)
	// doubtful reports whether what was read may be the answer to a number that was acknowledged before. It may be nil.
	doubtful func() bool
}

// change carries out a mutation of the session, by the number of the request, or by one that follows from the clock.
func (a *attached) change(ctx context.Context, h http.Header, m mutation) error {
	number, err := headerNumber(h, numberHeader)
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
	return a.Do(ctx, m.message(protocol.Mutation{Number: number, Acknowledged: acknowledged}), m.read, nil)
}

func (a *attached) changeByClock(ctx context.Context, m mutation) (err error) {
	for _, leap := range leaps {
		number := uint64(time.Now().Add(leap).UnixMicro())
		err = a.Do(ctx, m.message(protocol.Mutation{Number: number, Acknowledged: number - 1}), m.read, nil)
		if err == nil && m.doubtful != nil && m.doubtful() {
			err = a.probe(ctx, m.name, number+1)
		}
		if !stale(err) {
			return err
		}
	}
	return err
}

// noFence is the order id of no owner.
const noFence = 1<<64 - 1

// probe finds out whether the session has used a higher number, by a release of what it cannot own: an acquire does not
// say so.
func (a *attached) probe(ctx context.Context, name string, number uint64) error {
	m := protocol.Mutation{Number: number, Acknowledged: number - 1}
	err := a.Do(ctx, &protocol.Release{Mutation: m, Name: []byte(name), OrderID: noFence}, nil, nil)
	if errors.Is(err, client.ErrFenced) || errors.Is(err, client.ErrNotFound) {
		return nil
	}
	return err
}

func stale(err error) bool {
	var answer *protocol.Error
	return errors.As(err, &answer) && answer.Status == protocol.StatusStale
}

// headerNumber reads a header that is a whole number, 0 where it is not there.
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
