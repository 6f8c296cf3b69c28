//go:build linux

package chaos

import (
	"errors"
	"io"
	"net"
	"slices"
	"sync"
	"time"
)

// way is a direction of a link.
type way int

const (
	there way = iota // from who connects
	back             // to who connects
)

// bothWays are all there are.
var bothWays = []way{there, back}

const (
	// chunk is how much is passed on in one piece, queued how many pieces may be under way in one direction. What
	// is more waits at its sender, as it would before a slow network.
	chunk  = 16 << 10
	queued = 64
	// dialPatience bounds the making of a connection to a host of this machine.
	dialPatience = 2 * time.Second
)

// weather is what is wrong with one way of a link.
type weather struct {
	held  int // so many want nothing to pass
	delay time.Duration
	rates []int // bytes in a second, the lowest of which counts; none for as fast as may be
}

// Link carries the connections of one process to another one, and makes them as bad as it is told. It is safe
// for use by many goroutines.
type Link struct {
	address string // where it leads to

	mu      sync.Mutex // guards what follows
	ways    [2]weather
	changed chan struct{} // closed when the weather has changed
	pairs   map[*pair]bool
}

// pair is the two connections of which one continues the other.
type pair struct {
	link *Link
	ends [2]*net.TCPConn // of who connects, and of who is connected to
	gone chan struct{}   // closed when both are closed
	once sync.Once
	lost bool // nothing passes any more, and nobody is told; the link's lock guards it
}

// piece is something under way.
type piece struct {
	bytes []byte
	due   time.Time
}

// NewLink returns a link that leads to an address.
func NewLink(address string) *Link {
	return &Link{address: address, changed: make(chan struct{}), pairs: make(map[*pair]bool)}
}

// Carry continues a connection to where the link leads. It returns when the connection has ended.
func (l *Link) Carry(from *net.TCPConn) {
	c, err := net.DialTimeout("tcp", l.address, dialPatience)
	if err != nil {
		reset(from)
		return
	}
	p := &pair{link: l, ends: [2]*net.TCPConn{from, c.(*net.TCPConn)}, gone: make(chan struct{})}
	l.mu.Lock()
	l.pairs[p] = true
	l.mu.Unlock()
	var work sync.WaitGroup
	for _, w := range bothWays {
		work.Go(func() { p.pass(w) })
	}
	work.Wait()
	p.close()
	l.mu.Lock()
	delete(l.pairs, p)
	l.mu.Unlock()
}

// reset closes a connection in a way that its other end notices as an error.
func reset(c *net.TCPConn) {
	_ = c.SetLinger(0)
	_ = c.Close()
}

func (p *pair) close() {
	p.once.Do(func() {
		close(p.gone)
		for _, c := range p.ends {
			reset(c)
		}
	})
}

// pass carries what comes in one way.
func (p *pair) pass(w way) {
	from, to := p.ends[0], p.ends[1]
	if w == back {
		from, to = to, from
	}
	pieces := make(chan piece, queued)
	var failed error
	go func() {
		defer close(pieces)
		for {
			buffer := make([]byte, chunk)
			n, err := from.Read(buffer)
			if n > 0 {
				select {
				case pieces <- piece{buffer[:n], p.link.due(w)}:
				case <-p.gone:
					return
				}
			}
			if err != nil {
				failed = err
				return
			}
		}
	}()
	for x := range pieces {
		p.slow(w, len(x.bytes))
		if !p.await(w, x.due) {
			return
		}
		if _, err := to.Write(x.bytes); err != nil {
			p.close()
			return
		}
	}
	// Also the end of a connection is news that has to pass.
	if !p.await(w, p.link.due(w)) {
		return
	}
	if errors.Is(failed, io.EOF) {
		_ = to.CloseWrite()
		return
	}
	p.close()
}

// due is when something that begins its way now may arrive.
func (l *Link) due(w way) time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return time.Now().Add(l.ways[w].delay)
}

// await waits until it is time and something can pass, and tells whether it can.
func (p *pair) await(w way, due time.Time) bool {
	if d := time.Until(due); d > 0 && !p.pause(d) {
		return false
	}
	for {
		p.link.mu.Lock()
		blocked, changed := p.link.ways[w].held > 0 || p.lost, p.link.changed
		p.link.mu.Unlock()
		if !blocked {
			return true
		}
		select {
		case <-changed:
		case <-p.gone:
			return false
		}
	}
}

// slow waits for as long as so many bytes take.
func (p *pair) slow(w way, n int) {
	p.link.mu.Lock()
	rates := p.link.ways[w].rates
	p.link.mu.Unlock()
	if len(rates) > 0 {
		p.pause(time.Duration(n) * time.Second / time.Duration(slices.Min(rates)))
	}
}

// pause tells whether the pair is still there after it.
func (p *pair) pause(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-p.gone:
		return false
	}
}

// change changes the weather of some ways, and wakes what waits for it.
func (l *Link) change(ways []way, f func(*weather)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, w := range ways {
		f(&l.ways[w])
	}
	close(l.changed)
	l.changed = make(chan struct{})
}

// Hold keeps everything on its way, in these directions, until it is let go. Nobody is told: connections are
// there, and new ones can be made, but nothing comes through.
func (l *Link) Hold(ways ...way) (letGo func()) {
	l.change(ways, func(w *weather) { w.held++ })
	return sync.OnceFunc(func() { l.change(ways, func(w *weather) { w.held-- }) })
}

// Delay lets everything take longer.
func (l *Link) Delay(d time.Duration) (heal func()) {
	l.change(bothWays, func(w *weather) { w.delay += d })
	return sync.OnceFunc(func() { l.change(bothWays, func(w *weather) { w.delay -= d }) })
}

// Throttle lets no more than so many bytes of a connection through in a second. Of several rates the lowest counts.
func (l *Link) Throttle(rate int) (heal func()) {
	l.change(bothWays, func(w *weather) { w.rates = append(slices.Clone(w.rates), rate) })
	return sync.OnceFunc(func() {
		l.change(bothWays, func(w *weather) {
			at := slices.Index(w.rates, rate)
			w.rates = slices.Delete(slices.Clone(w.rates), at, at+1)
		})
	})
}

// Reset breaks all connections that there are, and tells both sides.
func (l *Link) Reset() {
	for _, p := range l.all() {
		p.close()
	}
}

// Lose lets nothing through any more on the connections that there are, as when a router forgets them: only new
// ones work. In the end they break.
func (l *Link) Lose() (end func()) {
	all := l.all()
	l.mu.Lock()
	for _, p := range all {
		p.lost = true
	}
	l.mu.Unlock()
	return sync.OnceFunc(func() {
		for _, p := range all {
			p.close()
		}
	})
}

func (l *Link) all() (list []*pair) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for p := range l.pairs {
		list = append(list, p)
	}
	return list
}
