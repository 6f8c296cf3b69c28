package ydb_test

import (
	"bufio"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
)

// relay passes on connections, to a fixed address or to the address in a connection's first line, until silence or cut.
type relay struct {
	address string
	to      string // "" where connections name it
	l       net.Listener

	mu     sync.Mutex // guards what follows
	silent chan struct{}
	is     bool
	cut    bool
	conns  []net.Conn
}

func newRelay(t *testing.T, to string) *relay {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &relay{address: l.Addr().String(), to: to, l: l, silent: make(chan struct{})}
	go r.accept()
	t.Cleanup(r.close)
	return r
}

func (r *relay) accept() {
	for {
		c, err := r.l.Accept()
		if err != nil {
			return
		}
		if r.keep(c) {
			go r.pass(c)
		}
	}
}

// keep records a connection for a later cut, and closes a connection that comes after the cut.
func (r *relay) keep(c net.Conn) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.cut {
		_ = c.Close()
		return false
	}
	r.conns = append(r.conns, c)
	return true
}

func (r *relay) pass(c net.Conn) {
	from, to := bufio.NewReader(c), r.to
	if to == "" {
		first, err := from.ReadString('\n')
		if err != nil {
			_ = c.Close()
			return
		}
		to = strings.TrimSpace(first)
	}
	d, err := net.Dial("tcp", to)
	if err != nil {
		_ = c.Close()
		return
	}
	if !r.keep(d) {
		_ = c.Close()
		return
	}
	go r.copy(d, from, c)
	r.copy(c, d, d)
}

// copy passes on bytes until one end is closed, and then closes the other. Bytes read after the silence began are held.
func (r *relay) copy(to net.Conn, from io.Reader, closes net.Conn) {
	b := make([]byte, 16<<10)
	for {
		n, err := from.Read(b)
		if r.isSilent() {
			return // both stay open, and hear nothing
		}
		if n > 0 {
			if _, err := to.Write(b[:n]); err != nil {
				_ = closes.Close()
			}
		}
		if err != nil {
			_ = to.Close()
			_ = closes.Close()
			return
		}
	}
}

func (r *relay) isSilent() bool {
	select {
	case <-r.silent:
		return true
	default:
		return false
	}
}

// silence stops all data in both directions, and closes nothing.
func (r *relay) silence() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.is {
		r.is = true
		close(r.silent)
	}
}

// close cuts all connections and refuses new ones.
func (r *relay) close() {
	_ = r.l.Close()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cut = true
	for _, c := range r.conns {
		_ = c.Close()
	}
}
