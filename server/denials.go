package server

import (
	"cmp"
	"strings"
	"sync"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/rights"
)

// maxDenials is how many refusals a host remembers.
const maxDenials = 1000

// denials are the latest requests that were refused for lack of a right. They are never written to the log: a client
// with many refusals could fill a disk.
type denials struct {
	mu    sync.Mutex // guards the fields below
	ring  [maxDenials]denial
	total uint64
}

// count is the number of refusals so far.
func (d *denials) count() uint64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.total
}

// denial is one refusal.
type denial struct {
	at           uint64 // wall clock in milliseconds
	who, address string
	kind         protocol.Kind
	path, object string
}

func (d *denials) note(n denial) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ring[d.total%maxDenials] = n
	d.total++
}

// latest returns the remembered refusals, the newest first, and the number of all refusals.
func (d *denials) latest() (list []denial, total uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for i := d.total; i > 0 && d.total-i < maxDenials; i-- {
		list = append(list, d.ring[(i-1)%maxDenials])
	}
	return list, d.total
}

// denied notes the refusal of a request from an address. The path is empty if the node is not known, or must stay
// hidden. The object may be part of the request.
func (c *conn) denied(from string, k protocol.Kind, path, object string) {
	c.host.denials.note(denial{at: c.host.wall(), who: c.who(), address: clipAddress(from), kind: k,
		path: path, object: strings.Clone(object)})
}

// deniedEntry notes that a client was not let in.
func (c *conn) deniedEntry() {
	n := denial{at: c.host.wall(), who: "unknown", kind: protocol.KindHello}
	if from := c.peer.RemoteAddr(); from != nil {
		n.address = clipAddress(from.String())
	}
	c.host.denials.note(n)
}

// accessDenials answers with the latest refusals of this host, in nodes with rights that the client may give.
func (c *conn) accessDenials(r *protocol.Request) {
	limit := itemLimit(r.AccessDenials.Limit)
	list, total := c.host.denials.latest()
	a, size := protocol.AccessDenialsAnswer{HostName: []byte(c.host.config.Name), Total: total}, 0
	for _, d := range list {
		below := d.path
		below = cmp.Or(below, "/")
		if !c.rights.Allows(below, "", protocol.RightAdmin) {
			continue
		}
		denial := rights.Denial{
			At: time.UnixMilli(int64(d.at)), Who: d.who, Address: d.address, Request: d.kind.String(),
			Rights: d.kind.Right() & protocol.RightAll, Path: d.path, Object: d.object,
		}
		a.Denials = append(a.Denials, denial)
		if size += protocol.Size(&denial); len(a.Denials) == limit || size >= protocol.PageBytes {
			break
		}
	}
	c.Answer(r.ID, &a)
}
