package caller

import (
	"strings"
	"sync"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/access"
	"github.com/signalbox/signalbox/shard"
)

// maxDenials is how many refusals a host remembers.
const maxDenials = 1000

// denials are the latest requests that were refused for lack of a right. They are never written to the log: a client
// with many refusals could fill a disk.
type denials struct {
	mu    sync.Mutex // guards the fields below
	ring  [maxDenials]access.Denial
	total uint64
}

func (d *denials) note(n access.Denial) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ring[d.total%maxDenials] = n
	d.total++
}

// Denials returns the remembered refusals, the newest first, and the number of all refusals.
func (g *Gate) Denials() (list []access.Denial, total uint64) {
	d := &g.denials
	d.mu.Lock()
	defer d.mu.Unlock()
	for i := d.total; i > 0 && d.total-i < maxDenials; i-- {
		list = append(list, d.ring[(i-1)%maxDenials])
	}
	return list, d.total
}

// Denied is the number of refusals so far.
func (g *Gate) Denied() uint64 {
	g.denials.mu.Lock()
	defer g.denials.mu.Unlock()
	return g.denials.total
}

// Denied notes the refusal of a request from an address. The path is empty if the node is not known, or must stay
// hidden. The object may be part of the request.
func (c *Caller) Denied(from string, k protocol.Kind, path, object string) {
	c.gate.denials.note(access.Denial{
		At: c.gate.now(), Who: c.Who(), Address: ClipAddress(from), Request: k.String(),
		Rights: k.Right() & protocol.RightAll, Path: path, Object: strings.Clone(object),
	})
}

// DeniedEntry notes that a client at an address was not let in.
func (g *Gate) DeniedEntry(address string) {
	g.denials.note(access.Denial{At: g.now(), Who: "unknown", Address: ClipAddress(address),
		Request: protocol.KindHello.String(), Rights: protocol.KindHello.Right() & protocol.RightAll})
}

// now is the wall clock, in milliseconds.
func (g *Gate) now() time.Time { return time.UnixMilli(int64(g.wall())) }

// ClipAddress returns an address cut to the length that a session may keep.
func ClipAddress(address string) string { return address[:min(len(address), shard.MaxClientAddress)] }
