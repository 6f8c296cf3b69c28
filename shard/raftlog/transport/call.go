package transport

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/signalbox/signalbox/shard"
)

const (
	// MaxCallBytes is the maximum size of a request, and of an answer. The largest request offers a slot with up to
	// 8 MiB of content.
	MaxCallBytes = 9 << 20
	// maxCallTime is the maximum duration of a call, even if the caller's deadline is later.
	maxCallTime = time.Minute
	// callHead precedes a request: how many milliseconds the caller waits.
	callHead = 8
	// answerHead precedes an answer or an error text, and distinguishes the two.
	answerHead = 1
)

const (
	answerGood   = 0
	answerFailed = 1
)

// ErrCallTooLarge is returned for a request or an answer above MaxCallBytes.
var ErrCallTooLarge = errors.New("transport: the request or the answer is too large")

// AnswerError is an error that Answer returned at the remote host.
type AnswerError struct{ Text string }

// Error implements error.
func (a *AnswerError) Error() string { return a.Text }

// Call sends a request to a host in the address book, and returns the result from Answer on that host. Calls to a host
// share a persistent connection (kept.go), separate from connections for engine frames. After an error other than an
// *AnswerError or a *Refused the outcome is unknown. A host can call itself, too.
func (t *Transport) Call(ctx context.Context, to shard.HostID, request []byte) ([]byte, error) {
	if t.isSelf(to) {
		return t.callSelf(ctx, request)
	}
	h, known := t.lookUp(to)
	if !known {
		return nil, fmt.Errorf("call host %d: %w", to, ErrUnknownHost)
	}
	for {
		k, makes := t.keptTo(h, len(request))
		if k == nil {
			return t.callAnew(ctx, h, makes, request)
		}
		answer, err := k.call(ctx, request)
		if !errors.Is(err, errKeptOver) {
			return answer, err
		}
	}
}

// callAnew makes a call over a new connection. If makes is true and the remote host supports persistent connections,
// the connection is kept for later calls.
func (t *Transport) callAnew(ctx context.Context, to Host, makes bool, request []byte) ([]byte, error) {
	purpose := purposeCall
	if makes {
		purpose = purposeCalls
	}
	proof := t.proof()
	d, err := t.dial(ctx, to, purpose)
	if makes && (err != nil || d.purpose != purposeCalls) {
		t.keepNone(to.ID)
	}
	if err != nil {
		return nil, fmt.Errorf("call %w", err)
	}
	if d.purpose != purposeCalls {
		return d.call(ctx, request)
	}
	k := t.keep(d, to, proof)
	if t.config.Kept != nil {
		t.config.Kept(to.ID)
	}
	return k.call(ctx, request)
}

// callSelf answers a call from this host to itself.
func (t *Transport) callSelf(ctx context.Context, request []byte) ([]byte, error) {
	if t.config.Answer == nil {
		return nil, errNoAnswer
	}
	answer, err := t.config.Answer(ctx, Peer{Identity: t.Identity()}, request)
	if err != nil {
		return nil, &AnswerError{Text: err.Error()}
	}
	return answer, nil
}

// CallUnnamed calls the host at an address without identifying itself. The function request builds the request after
// the handshake. The peer argument is unproven, except, with TLS, for the authority's signature.
func (t *Transport) CallUnnamed(ctx context.Context, address string,
	request func(Peer) ([]byte, error)) ([]byte, error) {
	d, err := t.dialAddress(ctx, Host{Address: address}, purposeUnnamed)
	if err != nil {
		return nil, fmt.Errorf("call %s: %w", address, err)
	}
	made, err := request(d.peer)
	if err != nil {
		d.close()
		return nil, err
	}
	return d.call(ctx, made)
}

// identifyWithin is the handshake timeout for IdentityAt.
const identifyWithin = 700 * time.Millisecond

// IdentityAt returns the identity the host at an address claims: only TLS proves it.
func (t *Transport) IdentityAt(ctx context.Context, address string) (Identity, error) {
	ctx, cancel := context.WithTimeout(ctx, identifyWithin)
	defer cancel()
	d, err := t.dialAddress(ctx, Host{Address: address}, purposeUnnamed)
	if err != nil {
		return Identity{}, fmt.Errorf("look who is at %s: %w", address, err)
	}
	defer d.close()
	return d.peer.Identity, nil
}

// call makes the only call on a connection.
func (d *dialled) call(ctx context.Context, request []byte) ([]byte, error) {
	defer d.close()
	if len(request) > MaxCallBytes {
		return nil, fmt.Errorf("call %s: %w: %d bytes", &d.peer, ErrCallTooLarge, len(request))
	}
	ctx, cancel := context.WithTimeout(ctx, maxCallTime)
	defer cancel()
	defer context.AfterFunc(ctx, func() { d.conn.Close() })()
	answer, err := d.exchange(ctx, request)
	if err != nil {
		return nil, fmt.Errorf("call %s: %w", &d.peer, errors.Join(context.Cause(ctx), err))
	}
	return readAnswer(answer)
}

// readAnswer returns the answer in a payload that has a head.
func readAnswer(payload []byte) ([]byte, error) {
	if payload[0] == answerFailed {
		return nil, &AnswerError{Text: string(payload[answerHead:])}
	}
	return payload[answerHead:], nil
}

// appendCall appends a request with its head.
func appendCall(ctx context.Context, payload, request []byte) []byte {
	until, _ := ctx.Deadline()
	payload = binary.BigEndian.AppendUint64(payload, uint64(max(time.Until(until).Milliseconds(), 0)))
	return append(payload, request...)
}

func (d *dialled) exchange(ctx context.Context, request []byte) (answer []byte, err error) {
	if err := writeFrame(d.conn, d.out, frameCall, appendCall(ctx, nil, request)); err != nil {
		return nil, err
	}
	_, answer, err = newFrameReader(d.conn, d.in, framesOfAnswer).next()
	if err == nil && len(answer) < answerHead {
		err = errFrame
	}
	return answer, err
}

// errNoAnswer is the answer from a host without Config.Answer.
var errNoAnswer = errors.New("this host answers no calls")

// serveCall answers the only call on a connection.
func (t *Transport) serveCall(conn net.Conn, g greeting) error {
	_, payload, err := newFrameReader(conn, g.in, framesOfCall).next()
	if err != nil {
		return err
	}
	if len(payload) < callHead {
		return refuse(RefusedFrame, "%w: a call of %d bytes", errFrame, len(payload))
	}
	left := callTime(payload)
	ctx, cancel := context.WithTimeout(t.ctx, left)
	defer cancel()
	if err := conn.SetWriteDeadline(time.Now().Add(left + writeTimeout)); err != nil {
		return err
	}
	return writeFrame(conn, g.out, frameAnswer, t.answer(ctx, g.peer, payload[callHead:]))
}

// callTime returns how long the caller waits, taken from the request head.
func callTime(payload []byte) time.Duration {
	return time.Duration(min(binary.BigEndian.Uint64(payload), uint64(maxCallTime.Milliseconds()))) * time.Millisecond
}

// answer returns the answer payload for a request.
func (t *Transport) answer(ctx context.Context, peer Peer, request []byte) []byte {
	answer, err := []byte(nil), errNoAnswer
	if t.config.Answer != nil {
		answer, err = t.config.Answer(ctx, peer, request)
	}
	if err == nil && len(answer) > MaxCallBytes {
		err = fmt.Errorf("%w: %d bytes", ErrCallTooLarge, len(answer))
	}
	if err != nil {
		text := err.Error()
		return append([]byte{answerFailed}, text[:min(len(text), MaxCallBytes)]...)
	}
	return append([]byte{answerGood}, answer...)
}
