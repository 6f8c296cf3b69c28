package transport

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/signalbox/signalbox/shard"
)

const (
	// keptFor is the maximum age of a persistent connection. After that time both ends authenticate each other again.
	keptFor = time.Hour
	// maxKeptCalls bounds the unanswered calls on a persistent connection. Further calls use connections of their own
	// instead of waiting.
	maxKeptCalls = 64
	// maxKeptBytes bounds a request on a persistent connection. A larger request uses a connection of its own, so other
	// calls do not wait behind it.
	maxKeptBytes = 64 << 10
	// keptHead precedes a request and its answer on a persistent connection: the call number.
	keptHead = 8
)

// answerOver is the answer head for a call that was not carried out, because the acceptor is closing the connection.
// The caller repeats the call over a new connection.
const answerOver = 2

// errKeptOver is the error for a call that was not carried out, because the persistent connection accepts no more
// calls.
var errKeptOver = errors.New("the other host ends the connection")

// kept is this host's end of a connection it dialled for many calls. A reader and a writer run while the connection is
// open, and callers never wait beyond their contexts.
type kept struct {
	*dialled
	to    Host
	proof proof // at the handshake

	frames chan []byte   // payloads for the writer; has capacity for all calls
	idle   chan struct{} // closed once no call needs the connection: the writer then closes it
	ended  chan struct{} // closed when the connection has ended
	err    error         // why the connection has ended; written before ended is closed

	mu      sync.Mutex
	pending map[uint64]chan<- []byte // guarded by mu, as are the fields below; unanswered calls
	last    uint64                   // the last call's number
	callers int                      // callers waiting for an answer
	heard   uint64                   // how many answers have arrived
	over    bool                     // accepts no more calls
	hungUp  bool                     // idle is closed
}

// proof is the evidence by which a host proves its identity to peers. A persistent connection that began with a
// different proof accepts no calls.
type proof struct {
	files   *tls.Config // a new value after the files changed; nil without TLS
	changes uint64      // number of changes to the identity and the secret
}

// proof returns this host's current proof.
func (t *Transport) proof() (p proof) {
	if t.config.TLS != nil {
		p.files = t.config.TLS.Config()
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	p.changes = t.changes
	return p
}

// keptTo returns the persistent connection to a host, for a request with the given size. If the result is nil, the call
// has to dial, and makes reports whether to keep the new connection.
func (t *Transport) keptTo(to Host, size int) (_ *kept, makes bool) {
	if size > maxKeptBytes {
		return nil, false
	}
	proof := t.proof()
	t.mu.Lock()
	k, known := t.kept[to.ID]
	if k == nil {
		t.kept[to.ID] = nil
		t.mu.Unlock()
		return nil, !known
	}
	over, full := k.state()
	if over = over || k.to != to || k.proof != proof; over {
		t.kept[to.ID] = nil
	}
	t.mu.Unlock()
	switch {
	case over:
		k.retire()
		return nil, true
	case full:
		return nil, false
	}
	return k, false
}

// KeptPeers returns the number of other hosts with a persistent connection from here.
func (t *Transport) KeptPeers() (n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, k := range t.kept {
		if k != nil {
			n++
		}
	}
	return n
}

// keepNone lets a later call create the persistent connection to a host.
func (t *Transport) keepNone(to shard.HostID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if k, known := t.kept[to]; known && k == nil {
		delete(t.kept, to)
	}
}

// keep makes later calls to a host use the connection.
func (t *Transport) keep(d *dialled, to Host, proof proof) *kept {
	k := &kept{
		dialled: d, to: to, proof: proof, frames: make(chan []byte, maxKeptCalls), idle: make(chan struct{}),
		ended: make(chan struct{}), pending: make(map[uint64]chan<- []byte),
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		k.over = true
		return k
	}
	t.kept[to.ID] = k
	t.running.Go(func() { writeQueued(d.conn, d.out, frameKeptCall, k.frames, k.idle, func() {}) })
	t.running.Go(func() {
		timer := time.AfterFunc(keptFor, k.retire)
		defer timer.Stop()
		err := k.read()
		t.mu.Lock()
		if t.kept[to.ID] == k {
			delete(t.kept, to.ID)
		}
		t.mu.Unlock()
		k.end(err)
	})
	return k
}

// state reports whether the connection accepts no more calls, and whether it is full for now.
func (k *kept) state() (over, full bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.over, len(k.pending) >= maxKeptCalls
}

// call makes a call over the connection. The error is errKeptOver if the call was not carried out.
func (k *kept) call(ctx context.Context, request []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, maxCallTime)
	defer cancel()
	if ctx.Err() != nil {
		return nil, k.failed(context.Cause(ctx))
	}
	answered := make(chan []byte, 1)
	id, heard, begun := k.begin(ctx, request, answered)
	if !begun {
		return nil, k.failed(errKeptOver)
	}
	defer k.leave()
	select {
	case payload := <-answered:
		return k.answer(payload)
	case <-k.ended:
	case <-ctx.Done():
	}
	select {
	case payload := <-answered: // before the end
		return k.answer(payload)
	case <-k.ended:
		return nil, k.failed(k.err)
	default:
	}
	k.abandon(id, heard, errors.Is(ctx.Err(), context.DeadlineExceeded))
	return nil, k.failed(context.Cause(ctx))
}

func (k *kept) failed(err error) error { return fmt.Errorf("call %s: %w", &k.peer, err) }

// begin hands a request to the writer, unless the connection accepts none.
func (k *kept) begin(ctx context.Context, request []byte, answered chan<- []byte) (id, heard uint64, begun bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.over || len(k.pending) >= maxKeptCalls {
		return 0, 0, false
	}
	k.last++
	k.callers++
	k.pending[k.last] = answered
	// The channel has capacity, because every request in it belongs to an unanswered call.
	k.frames <- appendCall(ctx, binary.BigEndian.AppendUint64(nil, k.last), request)
	return k.last, k.heard, true
}

// leave ends a caller's use of the connection.
func (k *kept) leave() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.callers--
	k.closeIdle()
}

// retire stops the connection from accepting calls; it closes once its last call ends.
func (k *kept) retire() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.over = true
	k.closeIdle()
}

// closeIdle closes a retired connection without calls in progress. The caller holds the lock.
func (k *kept) closeIdle() {
	if !k.over || k.callers > 0 || k.hungUp {
		return
	}
	k.hungUp = true
	close(k.idle)
}

// abandon drops a call after the caller's context has ended. The call counts until it is answered, because the remote
// host may still be working on it. If nothing has arrived between a call and its deadline, the connection may be dead,
// so the next call opens a new connection.
func (k *kept) abandon(id, heard uint64, late bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if _, unanswered := k.pending[id]; unanswered {
		k.pending[id] = nil
	}
	k.over = k.over || late && k.heard == heard
}

// answer returns the answer to a call, errKeptOver if the remote host has not carried out the call.
func (k *kept) answer(payload []byte) ([]byte, error) {
	if payload[0] == answerOver {
		k.retire()
		return nil, k.failed(errKeptOver)
	}
	return readAnswer(payload)
}

// read passes answers to the callers, and returns why the connection ended.
func (k *kept) read() error {
	frames := newFrameReader(k.conn, k.in, framesOfKeptAnswers)
	frames.silence = 2 * keptFor // ended connections and expired call contexts already show that a host is away
	for {
		_, payload, err := frames.next()
		if err == nil {
			err = k.answered(payload)
		}
		if err != nil {
			return err
		}
	}
}

func (k *kept) answered(payload []byte) error {
	if len(payload) < keptHead+answerHead {
		return fmt.Errorf("%w: an answer of %d bytes", errFrame, len(payload))
	}
	id := binary.BigEndian.Uint64(payload)
	k.mu.Lock()
	defer k.mu.Unlock()
	caller, unanswered := k.pending[id]
	if !unanswered {
		return fmt.Errorf("%w: an answer to call %d, which was not made or is answered", errFrame, id)
	}
	delete(k.pending, id)
	k.heard++
	if caller != nil {
		caller <- bytes.Clone(payload[keptHead:])
	}
	return nil
}

// end releases the callers: the connection has ended.
func (k *kept) end(err error) {
	k.err = err
	close(k.ended)
	k.retire()
	k.close()
}

// writeQueued writes frames until enough is closed, or the peer does not read, and closes the connection.
func writeQueued(conn net.Conn, mac *frameMAC, kind byte, payloads <-chan []byte, enough <-chan struct{},
	writing func()) {
	defer conn.Close()
	for {
		select {
		case payload := <-payloads:
			writing()
			if err := writePieces(conn, newFrame(mac, kind, payload)); err != nil {
				return
			}
		case <-enough:
			return
		}
	}
}
