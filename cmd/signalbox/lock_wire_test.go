package main

import (
	"io"
	"net"
	"sync"
	"testing"
)

// cutWire forwards connections until the cut. Then open connections go silent, except for spared ones, and new
// connections are rejected.
type cutWire struct {
	listener net.Listener
	to       string

	mu    sync.Mutex
	cut   bool
	conns []*severable
}

type severable struct {
	net.Conn
	mu     sync.Mutex
	silent bool
}

func newCutWire(t *testing.T, to string) *cutWire {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &cutWire{listener: l, to: to}
	t.Cleanup(func() {
		l.Close()
		w.mu.Lock()
		defer w.mu.Unlock()
		for _, c := range w.conns {
			c.Close()
		}
	})
	go w.accept()
	return w
}

func (w *cutWire) accept() {
	for {
		c, err := w.listener.Accept()
		if err != nil {
			return
		}
		w.mu.Lock()
		if w.cut {
			w.mu.Unlock()
			c.Close()
			continue
		}
		s := &severable{Conn: c}
		w.conns = append(w.conns, s)
		w.mu.Unlock()
		go s.pass(w.to)
	}
}

func (s *severable) pass(to string) {
	host, err := net.Dial("tcp", to)
	if err != nil {
		s.Close()
		return
	}
	defer host.Close()
	go func() { _, _ = io.Copy(s, host) }()
	_, _ = io.Copy(silencer{s, host}, s.Conn)
}

// Write forwards data from the host.
func (s *severable) Write(b []byte) (int, error) {
	if s.isSilent() {
		return len(b), nil
	}
	return s.Conn.Write(b)
}

func (s *severable) isSilent() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.silent
}

// silencer forwards data from the client.
type silencer struct {
	s  *severable
	to io.Writer
}

func (s silencer) Write(b []byte) (int, error) {
	if s.s.isSilent() {
		return len(b), nil
	}
	return s.to.Write(b)
}

func (w *cutWire) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.conns)
}

// sever silences the connections up to the n-th, and lets no new ones in.
func (w *cutWire) sever(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cut = true
	for _, c := range w.conns[:n] {
		c.mu.Lock()
		c.silent = true
		c.mu.Unlock()
	}
}
