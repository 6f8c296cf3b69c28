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

// What a request may hold, and from when on, is in DESIGN.md.
const (
	// maxCalls is how many requests are carried out at once, and maxCallsOfAddress how many of those of one address.
	maxCalls          = 1024
	maxCallsOfAddress = 768
	// maxStreams is how many of them may be event streams, and maxStreamsOfAddress how many of those of one address.
	maxStreams          = 768
	maxStreamsOfAddress = 256
	// keptForTokens is how many more of either there may be of requests that show a token.
	keptForTokens = 256
	// heldBytes is how much bodies and answers take together that are under way.
	heldBytes = 128 << 20
)

// places are what requests of one sort have while they are carried out.
type places struct {
	limit, ofAddress int
	refused          atomic.Uint64

	mu    sync.Mutex
	all   int
	known map[netip.Prefix]int
}

// take takes a place until the function that it returns is called. A request that has shown a token finds places that
// are kept for such requests.
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

// serveInPlace carries out a request that is there whole. Its place is free again before its answer is written, however
// slowly that is read.
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

// shown reports whether the request has shown a token that was accepted.
func (c *call) shown() bool { return c.token != "" && c.caller != nil }

// deliver writes the answer that a request has got, in JSON.
func (c *call) deliver() {
	if c.text == nil || !c.conn.Hold(cap(c.text)) {
		return
	}
	_ = http.NewResponseController(c.w).SetWriteDeadline(time.Now().Add(answerTimeout))
	writeBody(c.w, http.StatusOK, "application/json", c.text)
	c.conn.Hold(0)
}
