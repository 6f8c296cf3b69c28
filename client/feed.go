package client

import (
	"context"
	"errors"
	"sync"

	"github.com/signalbox/signalbox/protocol"
)

// feedKey is what a watch at a host is for. Watches of the same key share one.
type feedKey struct {
	node         uint64
	name         string
	data, owners bool
}

// feed is a watch at some host, which is opened again at another one when it breaks off, and the view that it
// has brought about. It lives while somebody reads it.
type feed struct {
	client *Client
	key    feedKey
	ctx    context.Context // ends when nobody reads any more
	stop   context.CancelFunc
	wake   chan struct{} // the stream is over; holds one

	// count is how many read. It is guarded by the client's lock, so that nobody joins a feed that is
	// about to end.
	count int

	mu      sync.Mutex // guards what follows
	view    *View      // nil before the first is whole
	version uint64     // grows with each view that differs from the one before
	draft   draft
	current *stream
	over    error // what the latest stream ended with
	err     error // why nothing more will come
	readers map[*reader]struct{}
}

// errBehind: a host sent a change that does not follow on what was sent before.
var errBehind = errors.New("a change is missing")

// feed returns the feed of a key, which is left with leaveFeed.
func (c *Client) feed(key feedKey) (*feed, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closing.Load() {
		return nil, ErrClosed
	}
	f := c.feeds[key]
	if f == nil {
		f = &feed{client: c, key: key, wake: make(chan struct{}, 1), readers: make(map[*reader]struct{})}
		f.ctx, f.stop = context.WithCancel(c.ctx)
		c.feeds[key] = f
		c.work.Go(f.run)
	}
	f.count++
	return f, nil
}

func (c *Client) leaveFeed(f *feed) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f.count--; f.count == 0 {
		f.stop()
		c.forgetFeed(f)
	}
}

// forgetFeed keeps others from joining the feed. The client's lock is held.
func (c *Client) forgetFeed(f *feed) {
	if c.feeds[f.key] == f {
		delete(c.feeds, f.key)
	}
}

// run opens a stream, and another one when it is over, until nobody reads or it has failed for good.
func (f *feed) run() {
	c := f.client
	where := replicaAt(protocol.SemaphoreSlot(f.key.node, protocol.View(f.key.name)))
	var r retries
	var tried *host
	for {
		l, h, err := c.pick(f.ctx, where, tried)
		if err == nil {
			err = f.follow(l, &r)
		}
		tried = h
		if end := c.redirect(f.ctx, err, l, h); end != nil {
			f.fail(end)
			return
		}
		if end := r.again(f.ctx, c.ctx, err); end != nil {
			f.fail(end)
			return
		}
	}
}

// follow opens a stream over a link and returns why it is over. After one that has lasted, the next one begins
// without a pause.
func (f *feed) follow(l *link, r *retries) error {
	s := &stream{feed: f}
	m := &protocol.Watch{
		NodeID: f.key.node, Name: protocol.View(f.key.name), Owners: f.key.owners, Data: f.key.data,
	}
	f.mu.Lock()
	if f.view != nil && !errors.Is(f.over, errBehind) {
		m.Since = f.view.Revision
	}
	f.draft, f.current, f.over = draft{}, s, nil
	f.mu.Unlock()
	opened := f.client.clock.now()
	id, err := l.send(s, m)
	if err != nil {
		return err
	}
	select {
	case <-f.wake:
	case <-f.ctx.Done():
	}
	f.mu.Lock()
	err = f.over
	f.current = nil
	f.mu.Unlock()
	if f.client.clock.now().sub(opened) > maxPause {
		*r = retries{}
	}
	if err == nil || errors.Is(err, errBehind) {
		l.stopWatch(id)
	}
	if err == nil {
		return context.Cause(f.ctx)
	}
	return err
}

// fail ends the feed for all who read it.
func (f *feed) fail(err error) {
	f.client.mu.Lock()
	f.client.forgetFeed(f)
	f.client.mu.Unlock()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err = err
	f.tell()
}

// tell wakes the readers. The lock is held.
func (f *feed) tell() {
	for r := range f.readers {
		select {
		case r.wake <- struct{}{}:
		default:
		}
	}
}

// show makes a view the present one. The lock is held.
func (f *feed) show(v *View) {
	old := f.view
	if old != nil && !old.Exists && v.Exists && v.birth == old.birth {
		v.birth++
	}
	f.view = v
	if old == nil || !v.same(old) {
		f.version++
		f.tell()
	}
}
