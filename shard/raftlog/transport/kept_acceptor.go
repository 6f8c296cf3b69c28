package transport

import (
	"bytes"
	"context"
	"encoding/binary"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// keptAcceptor is this host's end of an inbound persistent connection.
type keptAcceptor struct {
	*Transport
	conn  net.Conn
	proof proof // at the handshake
	greeting

	answers  chan []byte   // payloads for the writer; has capacity for all calls
	ended    chan struct{} // closed when the connection has ended
	underWay atomic.Int64  // calls without an answer being written yet
	running  sync.WaitGroup
}

func (t *Transport) newKeptAcceptor(conn net.Conn, g greeting, proof proof) *keptAcceptor {
	return &keptAcceptor{Transport: t, conn: conn, proof: proof, greeting: g,
		answers: make(chan []byte, maxKeptCalls), ended: make(chan struct{})}
}

// serve answers calls until the connection ends, and returns why it ended. The connection counts towards the peer's
// limit until its calls are done.
func (k *keptAcceptor) serve() error {
	// The dialer closes the connection after keptFor, and its last call is done by then.
	timer := time.AfterFunc(keptFor+2*maxCallTime, func() { k.conn.Close() })
	defer timer.Stop()
	k.running.Go(func() {
		writeQueued(k.conn, k.out, frameKeptAnswer, k.answers, k.ended, func() { k.underWay.Add(-1) })
	})
	defer k.running.Wait()
	defer close(k.ended)
	frames := newFrameReader(k.conn, k.in, framesOfKeptCalls)
	frames.silence = 2 * keptFor
	for {
		_, payload, err := frames.next()
		if err == nil {
			err = k.begin(payload)
		}
		if err != nil {
			return err
		}
	}
}

// begin begins a call. An error means that the connection must end.
func (k *keptAcceptor) begin(payload []byte) error {
	if len(payload) < keptHead+callHead {
		return refuse(RefusedFrame, "%w: a call of %d bytes", errFrame, len(payload))
	}
	if n := k.underWay.Add(1); n > maxKeptCalls {
		return refuse(RefusedFrame, "%w: %d calls at once", errFrame, n)
	}
	id, payload := binary.BigEndian.Uint64(payload), bytes.Clone(payload[keptHead:])
	if k.proof != k.Transport.proof() {
		k.say(id, []byte{answerOver})
		return nil
	}
	k.running.Go(func() {
		ctx, cancel := context.WithTimeout(k.ctx, callTime(payload))
		defer cancel()
		k.say(id, k.Transport.answer(ctx, k.peer, payload[callHead:]))
	})
	return nil
}

// say hands an answer to the writer. The channel has capacity, because every answer in it counts as a call in progress.
func (k *keptAcceptor) say(id uint64, answer []byte) {
	k.answers <- append(binary.BigEndian.AppendUint64(nil, id), answer...)
}
