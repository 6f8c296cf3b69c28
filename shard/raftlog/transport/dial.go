package transport

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"

	"github.com/signalbox/signalbox/shard"
)

// ErrUnknownHost is returned for a host that is missing in the address book, or has a different incarnation there.
var ErrUnknownHost = errors.New("transport: the host is not in the address book")

// dialled is this host's end of an outbound connection.
type dialled struct {
	conn net.Conn
	greeting
	close func()
}

// resolve returns the address book entry for a target.
func (t *Transport) resolve(target Target) (Host, error) {
	h, known := t.lookUp(target.Host)
	if !known || h.Incarnation != target.Incarnation {
		return h, fmt.Errorf("%w: %v", ErrUnknownHost, target)
	}
	return h, nil
}

// dial opens a connection to a host in the address book.
func (t *Transport) dial(ctx context.Context, to Host, purpose purpose) (*dialled, error) {
	d, err := t.dialAddress(ctx, to, purpose)
	if err != nil {
		return nil, fmt.Errorf("host %d at %s: %w", to.ID, to.Address, err)
	}
	return d, nil
}

// dialAddress opens a connection to an address. For an entry without an id, any host may answer.
func (t *Transport) dialAddress(ctx context.Context, to Host, purpose purpose) (*dialled, error) {
	raw, err := t.config.Dial(ctx, to.Address)
	if err != nil {
		return nil, err
	}
	boundLoss(raw)
	d := &dialled{conn: raw, close: func() { t.hangUp(raw) }}
	if err := t.noteDialled(raw, to); err != nil {
		raw.Close()
		return nil, err
	}
	if t.config.TLS != nil {
		secured := tls.Client(raw, t.config.TLS.Config())
		if err := secure(ctx, secured); err != nil {
			d.close()
			return nil, err
		}
		d.conn = secured
	}
	if d.greeting, err = t.greetAsDialer(ctx, d.conn, to, purpose); err != nil {
		d.close()
		return nil, err
	}
	return d, nil
}

// dialTCP opens a connection to an address over TCP.
func dialTCP(ctx context.Context, address string) (net.Conn, error) {
	dialer := net.Dialer{Timeout: dialTimeout, KeepAlive: keepAlivePeriod}
	return dialer.DialContext(ctx, "tcp", address)
}

// noteDialled registers the connection so that an address book change can end it, and returns an error if the book has
// changed already.
func (t *Transport) noteDialled(conn net.Conn, to Host) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.book[to.ID]
	switch {
	case t.closed:
		return net.ErrClosed
	case to.ID != 0 && (now.Address != to.Address || now.Incarnation != to.Incarnation):
		return errors.New("the host is at another address now")
	}
	t.dialled[conn] = to
	return nil
}

func (t *Transport) hangUp(conn net.Conn) {
	conn.Close()
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.dialled, conn)
}

func secure(ctx context.Context, conn *tls.Conn) error {
	ctx, cancel := context.WithTimeout(ctx, handshakeTimeout)
	defer cancel()
	if err := conn.HandshakeContext(ctx); err != nil {
		return fmt.Errorf("handshake: %w", err)
	}
	return nil
}

// isSelf reports whether an id is this host's id.
func (t *Transport) isSelf(id shard.HostID) bool { return id == t.Identity().Host }
