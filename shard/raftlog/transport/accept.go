package transport

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"time"
)

// accepted is an inbound connection from another host.
type accepted struct {
	peer    Peer
	purpose purpose // zero until the peer is admitted
}

func (t *Transport) accept() {
	for {
		conn, err := t.config.Listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			t.config.Logger.Error("accept a connection from a remote host", "error", err)
			time.Sleep(acceptPause)
			continue
		}
		boundLoss(conn)
		if err := t.add(conn); err != nil {
			t.config.Logger.Warn("turned away a connection from a remote host", "remote_address", conn.RemoteAddr(),
				"error", err)
			conn.Close()
			continue
		}
		t.running.Go(func() {
			defer t.remove(conn)
			t.refusals.reportEnd(t.serve(conn), conn.RemoteAddr().String())
		})
	}
}

// add lets a connection begin a handshake, unless too many handshakes are in progress.
func (t *Transport) add(conn net.Conn) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return net.ErrClosed
	}
	if greeting := t.count(func(a *accepted) bool { return a.purpose == 0 }); greeting >= maxGreeting {
		return fmt.Errorf("%d connections have not said who they are", greeting)
	}
	t.accepted[conn] = new(accepted)
	return nil
}

// count returns the number of accepted connections that match. The caller holds the lock.
func (t *Transport) count(is func(*accepted) bool) int {
	n := 0
	for _, a := range t.accepted {
		if is(a) {
			n++
		}
	}
	return n
}

func (t *Transport) remove(conn net.Conn) {
	conn.Close()
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.accepted, conn)
}

// enroll records the peer of an accepted connection, and refuses the connection if the peer has too many. It closes
// connections that belong to an earlier start of the same host.
func (t *Transport) enroll(conn net.Conn, peer Peer, purpose purpose) *Refused {
	t.mu.Lock()
	defer t.mu.Unlock()
	limit, ofSame := maxUnnamed, func(a *accepted) bool { return a.purpose == purposeUnnamed }
	if purpose != purposeUnnamed {
		limit, ofSame = maxOfHost, func(a *accepted) bool { return a.peer.Host == peer.Host }
	}
	if n := t.count(ofSame); n >= limit {
		return refusef(CodeNotNow, "%d connections of %s are open", n, &peer)
	}
	for other, a := range t.accepted {
		if peer.Named() && a.peer.Host == peer.Host && a.peer.Start.Number < peer.Start.Number {
			other.Close()
		}
	}
	*t.accepted[conn] = accepted{peer: peer, purpose: purpose}
	return nil
}

// serve serves a connection to its end, and returns why the connection ended.
func (t *Transport) serve(raw net.Conn) error {
	conn, proof := raw, t.proof()
	if t.config.TLS != nil {
		secured := tls.Server(raw, t.config.TLS.Config())
		if err := secure(t.ctx, secured); err != nil {
			return err
		}
		conn = secured
	}
	enroll := func(peer Peer, purpose purpose) *Refused { return t.enroll(raw, peer, purpose) }
	g, err := t.greetAsAcceptor(t.ctx, conn, enroll)
	if err != nil {
		return refuse(RefusedHandshake, "handshake: %w", err)
	}
	switch g.purpose {
	case purposeFrames:
	case purposeCalls:
		return t.newKeptAcceptor(conn, g, proof).serve()
	default:
		return t.serveCall(conn, g)
	}
	end := t.engineEnd()
	if end == nil || !end.enter(raw) {
		return nil // closed since the handshake
	}
	defer end.leave(raw)
	defer t.running.Go(func() { end.awaitProcessEnd(&g.peer, raw) })
	return end.serve(conn, g)
}

// unexpected returns nil if a connection ended normally.
func unexpected(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}
