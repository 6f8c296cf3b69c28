package caller

import (
	"strings"
	"sync"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/access"
	"github.com/signalbox/signalbox/shard"
)

// maxDenials is the number of refusals that a host remembers.
const maxDenials = 1000

// denials are the latest requests that were refused for a missing right. They are never logged, because a client with
// many refusals could fill a disk.
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

// Denials returns the remembered refusals, newest first, and the total number of refusals.
func (g *Gate) Denials() (list []access.Denial, total uint64) {
	d := &g.denials
	d.mu.Lock()
	defer d.mu.Unlock()
	for i := d.total; i > 0 && d.total-i < maxDenials; i-- {
		list = append(list, d.ring[(i-1)%maxDenials])
	}
	return list, d.total
}

// Denied returns the total number of refusals.
func (g *Gate) Denied() uint64 {
	g.denials.mu.Lock()
	defer g.denials.mu.Unlock()
	return g.denials.total
}

// Denied records the refusal for a request from an address. The path is empty if the node is unknown or must stay
// hidden. The object may alias the request buffer.
func (c *Caller) Denied(from string, k protocol.Kind, path, object string) {
	c.gate.denials.note(access.Denial{
		At: c.gate.now(), Who: c.Who(), Address: ClipAddress(from), Request: k.String(),
		Rights: k.Right() & protocol.RightAll, Path: path, Object: strings.Clone(object),
	})
}

// DeniedEntry records that a client at an address was not admitted.
func (g *Gate) DeniedEntry(address string) {
	g.denials.note(access.Denial{At: g.now(), Who: "unknown", Address: ClipAddress(address),
		Request: protocol.KindHello.String(), Rights: protocol.KindHello.Right() & protocol.RightAll})
}

// now returns the wall clock in milliseconds.
func (g *Gate) now() time.Time { return time.UnixMilli(int64(g.wall())) }

// ClipAddress truncates an address to the length limit for session records.
func ClipAddress(address string) string { return address[:min(len(address), shard.MaxClientAddress)] }
