package http

import (
	"context"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/signalbox/signalbox/internal/httpdoor"
	"github.com/signalbox/signalbox/protocol"
)

// How much a request may hold, and from when on, is in DESIGN.md.
const (
	// maxCalls is how many requests are carried out at once, and maxCallsOfAddress how many from a single address.
	maxCalls          = 1024
	maxCallsOfAddress = 768
	// maxStreams is how many event streams may be open, and maxStreamsOfAddress how many from a single address.
	maxStreams          = 768
	maxStreamsOfAddress = 256
	// keptForTokens is how many requests, and how many streams, with a token may be under way in addition.
	keptForTokens = 256
	// heldBytes is how much memory bodies and answers under way take together.
	heldBytes = 128 << 20
)

// places are the places for requests of one sort under way.
type places struct {
	limit, ofAddress int
	refused          atomic.Uint64

	mu    sync.Mutex
	all   int
	known map[netip.Prefix]int
}

// take takes a place until the returned function is called. A request with an accepted token also finds the places
// kept for such requests.
func (p *places) take(from netip.Addr, shown bool) (leave func(), ok bool) {
	limit, address := p.limit, httpdoor.Prefix(from)
	if shown {
		limit += keptForTokens
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.all >= limit || p.known[address] >= p.ofAddress {
		p.refused.Add(1)
		return nil, false
	}
	if p.known == nil {
		p.known = make(map[netip.Prefix]int)
	}
	p.all++
	p.known[address]++
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.all--
		if p.known[address]--; p.known[address] == 0 {
			delete(p.known, address)
		}
	}, true
}

// taken is how many places are taken.
func (p *places) taken() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.all
}

// serveInPlace carries out a complete request. The place is free again before the answer is written, however slowly
// the caller reads.
func (c *call) serveInPlace(of *route) error {
	leave, ok := c.gateway.calls.take(c.from, c.shown())
	if !ok {
		return refuse(protocol.StatusOverloaded, "too many requests are under way")
	}
	defer leave()
	if !c.conn.Begin() {
		return context.Canceled // the connection is closed
	}
	defer c.conn.End()
	err := of.serve(c)
	c.gateway.note(c, of, err)
	return err
}

// shown reports whether the request has shown an accepted token.
func (c *call) shown() bool { return c.token != "" && c.caller != nil }

// deliver writes the answer of a request, in JSON.
func (c *call) deliver() {
	if c.text == nil || !c.conn.Hold(cap(c.text)) {
		return
	}
	_ = http.NewResponseController(c.w).SetWriteDeadline(time.Now().Add(answerTimeout))
	writeBody(c.w, http.StatusOK, "application/json", c.text)
	c.conn.Hold(0)
}
