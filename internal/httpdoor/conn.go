package httpdoor

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"syscall"
)

// freeBytes is how much a connection may hold without being counted.
const freeBytes = 4 << 10

// Conn is a connection that has passed a Door. Handlers may call the methods on a nil Conn, which belongs to a server
// without a door.
type Conn struct {
	net.Conn
	door *Door
	peer netip.Addr

	// The next fields are guarded by Door.mu.
	address netip.Addr // for counting: the peer's, or the address named by a proxy for its request
	of      *group
	stage   stage
	shown   bool // the last request has shown an accepted token
	held    int64
	move    uint64
	inAll   place
	inOf    place
	gone    bool
	cancel  context.CancelFunc // ends the contexts of the connection's requests
}

// endsWith has the end of the connection call a function.
func (c *Conn) endsWith(cancel context.CancelFunc) {
	c.door.mu.Lock()
	c.cancel = cancel
	gone := c.gone
	c.door.mu.Unlock()
	if gone {
		cancel()
	}
}

// Close implements net.Conn.
func (c *Conn) Close() error {
	c.door.mu.Lock()
	c.door.remove(c, reasons)
	cancel := c.cancel
	c.door.mu.Unlock()
	if cancel != nil {
		cancel()
	}
	return c.Conn.Close()
}

// Counts has the connection count for an address until the end of the connection's request.
func (c *Conn) Counts(address netip.Addr) {
	if c == nil || address == c.peer {
		return
	}
	d := c.door
	d.mu.Lock()
	var closing victims
	if !c.gone {
		d.enter(c, address)
		closing = d.closable(c)
	}
	d.mu.Unlock()
	closing.close()
}

// Shown says whether the request has shown an accepted token: connections with a token are closed last.
func (c *Conn) Shown(token bool) {
	if c == nil {
		return
	}
	c.door.mu.Lock()
	defer c.door.mu.Unlock()
	if !c.gone && c.shown != token {
		c.door.leave(c)
		c.shown = token
		c.door.place(c, c.stage)
	}
}

// Begin says that the request is being carried out: until End the connection is not closed to make room. Begin
// returns false for a connection closed before.
func (c *Conn) Begin() bool { return c == nil || c.changed(working) }

// End ends the work begun by Begin.
func (c *Conn) End() {
	if c != nil {
		c.changed(waiting)
	}
}

func (c *Conn) changed(to stage) bool {
	c.door.mu.Lock()
	defer c.door.mu.Unlock()
	if !c.gone {
		c.door.place(c, to)
	}
	return !c.gone
}

// Hold says how much memory the body or the answer under way takes, 0 for its end. Hold returns false if the
// connection was closed, by this call or before.
func (c *Conn) Hold(bytes int) bool {
	if c == nil {
		return true
	}
	d := c.door
	d.mu.Lock()
	if !c.gone {
		d.hold(c, max(int64(bytes)-freeBytes, 0))
	}
	var closing victims
	for d.limits.Bytes > 0 && d.held > d.limits.Bytes {
		oldest := d.all.oldestHolder()
		if oldest == nil {
			break
		}
		closing = append(closing, d.remove(oldest, forBytes)...)
	}
	gone := c.gone
	d.mu.Unlock()
	closing.close()
	return !gone
}

// hold counts the memory held by a connection. mu is held.
func (d *Door) hold(c *Conn, bytes int64) {
	d.held += bytes - c.held
	c.held = bytes
	switch {
	case c.stage == working:
	case bytes > 0 && c.stage != holding:
		d.place(c, holding)
	case bytes == 0 && c.stage == holding:
		d.place(c, waiting)
	}
}

// enter has a connection count for an address. mu is held.
func (d *Door) enter(c *Conn, address netip.Addr) {
	if c.of != nil && c.address == address {
		return
	}
	prefix := Prefix(address)
	d.exit(c)
	of := d.byAddr[prefix]
	if of == nil {
		of = new(group)
		d.byAddr[prefix] = of
	}
	c.address, c.of = address, of
	of.size++
	d.all.size++
	d.place(c, c.stage)
}

// exit takes a connection out of the counts. mu is held.
func (d *Door) exit(c *Conn) {
	if c.of == nil {
		return
	}
	d.leave(c)
	d.all.size--
	if c.of.size--; c.of.size == 0 {
		delete(d.byAddr, Prefix(c.address))
	}
	c.of = nil
}

// victims are connections given up by the door, and to be closed without its lock.
type victims []*Conn

// remove gives a connection up; nil is no connection. mu is held.
func (d *Door) remove(c *Conn, why reason) victims {
	if c == nil || c.gone {
		return nil
	}
	d.exit(c)
	d.held -= c.held
	c.gone, c.held = true, 0
	if why == reasons {
		return nil // ended by itself
	}
	d.closedFor[why].Add(1)
	return victims{c}
}

// close resets connections, so the system keeps no bytes that clients do not read.
func (v victims) close() {
	for _, c := range v {
		if socket, is := c.Conn.(*net.TCPConn); is {
			_ = socket.SetLinger(0)
		}
		_ = c.Close()
	}
}

// outOfFiles reports whether the system had no file for a connection.
func outOfFiles(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
}
