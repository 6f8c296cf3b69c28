package watch

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/valyala/bytebufferpool"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/machine"
)

// client is a connection with its client: a Sink that reads its data at once or, if slow, on the test's request.
type client struct {
	t   testing.TB
	hub *Hub

	mu       sync.Mutex
	encoder  *protocol.Encoder
	decoder  *protocol.AnswerDecoder
	appended bytebufferpool.ByteBuffer
	sent     []byte // flushed, not read
	most     int    // maximum number of waiting bytes so far
	slow     bool
	high     bool // above the mark since last drained
	closed   bool
	flushes  int
	next     uint64
	views    map[uint64]*view
	over     map[uint64]*view // views whose end was read
	ended    []uint64         // as the hub said
	check    func(*view) error
	during   func() // called while frames are appended
}

func newClient(t testing.TB, h *Hub) *client {
	return &client{
		t: t, hub: h, encoder: protocol.NewEncoder(), decoder: protocol.NewAnswerDecoder(),
		views: make(map[uint64]*view), over: make(map[uint64]*view),
	}
}

func (c *client) Append(write func(*protocol.Encoder, *bytebufferpool.ByteBuffer)) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	if c.during != nil {
		c.during()
	}
	write(c.encoder, &c.appended)
	return true
}

func (c *client) Flush(bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.flush()
}

func (c *client) flush() {
	c.flushes++
	c.sent = append(c.sent, c.appended.B...)
	c.appended.Reset()
	c.most = max(c.most, len(c.sent))
	if len(c.sent) > c.hub.options.SlowBytes {
		c.high = true
	}
	if !c.slow {
		c.read(len(c.sent))
	}
}

func (c *client) Pending() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.sent)
}

func (c *client) Ended(id uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = append(c.ended, id)
}

// take reads approximately the given number of waiting bytes, and signals if that drained the connection.
func (c *client) take(bytes int) {
	c.mu.Lock()
	c.read(bytes)
	drained := c.high && len(c.sent) <= c.hub.options.SlowBytes/4
	if drained {
		c.high = false
	}
	c.mu.Unlock()
	if drained {
		c.hub.Drained(c)
	}
}

// hasten makes a slow client read everything, from now on at once.
func (c *client) hasten() {
	c.mu.Lock()
	c.slow = false
	c.mu.Unlock()
	c.take(1 << 40)
}

// read takes frames from the waiting data, until it has read the given number of bytes.
func (c *client) read(bytes int) {
	at := 0
	for at < len(c.sent) && at < bytes {
		payload, size, err := protocol.ScanFrame(c.sent[at:],
			protocol.PageBytes+2*protocol.MaxDataBytes+protocol.FrameRoom)
		if err != nil || payload == nil {
			c.t.Errorf("no frame: %v", err)
			break
		}
		if err := c.frame(payload); err != nil {
			c.t.Errorf("%v", err)
		}
		at += size
	}
	c.sent = slices.Delete(c.sent, 0, at)
}

func (c *client) frame(payload []byte) error {
	a, err := c.decoder.Decode(payload)
	if err != nil {
		return err
	}
	if a.Kind == protocol.KindWatchStop.Answer() {
		delete(c.views, a.ID)
		return nil
	}
	v := c.views[a.ID]
	if v == nil {
		return fmt.Errorf("%v for watch %d, which is not open", a.Kind, a.ID)
	}
	if a.Kind == protocol.KindWatch.Answer() {
		v.answered = true
		if shard.ObjectKind(a.Watch.ObjectKind) != v.kind {
			return fmt.Errorf("the kind %v is watched, not %v", a.Watch.ObjectKind, v.kind)
		}
		return nil
	}
	if !v.answered {
		return fmt.Errorf("%v for watch %d before its answer", a.Kind, a.ID)
	}
	v.bytes += len(payload) + protocol.FrameHeaderBytes
	switch a.Kind {
	case protocol.KindWatchSnapshot:
		err = v.snapshot(&a.WatchSnapshot)
	case protocol.KindWatchDelta:
		err = v.delta(&a.WatchDelta)
	case protocol.KindWatchResync:
		v.resyncs++
		v.resynced = true
	case protocol.KindWatchEnd:
		result := a.WatchEnd.Result
		v.ended = &result
		c.over[a.ID] = v
		delete(c.views, a.ID)
	default:
		err = fmt.Errorf("an unexpected %v", a.Kind)
	}
	if err == nil && c.check != nil && v.begun {
		err = c.check(v)
	}
	if err != nil {
		return fmt.Errorf("watch %d of %q (wants %d): %w", a.ID, v.name, v.wants, err)
	}
	return nil
}

// watch opens a watch without a view before.
func (c *client) watch(name string, w wants) *view {
	c.t.Helper()
	return c.resume(&view{node: 1, name: name, wants: w})
}

// watchView opens a watch on a shelf's view.
func (c *client) watchView(name, part string) *view {
	c.t.Helper()
	return c.resume(&view{node: 1, name: name, wants: all, kind: kindShelf, part: part})
}

// resume opens a watch from a view's revision.
func (c *client) resume(v *view) *view {
	c.t.Helper()
	c.mu.Lock()
	c.next++
	id := c.next
	v.answered, v.resynced, v.ended = false, false, nil
	if !v.begun {
		v.revision, v.partial = 0, false
	}
	c.views[id] = v
	since := v.revision
	c.mu.Unlock()
	m := protocol.Watch{
		NodeID: uint64(v.node), Name: []byte(v.name), Since: since,
		Owners: v.wants&wantsOwners != 0, Data: v.wants&wantsData != 0,
		ObjectKind: protocol.ObjectKind(v.kind), View: []byte(v.part),
	}
	if err := c.hub.Open(c, id, &m); err != nil {
		c.t.Errorf("opening a watch of %q: %v", v.name, err)
	}
	clear(m.Name) // nothing from the request is kept
	clear(m.View)
	c.Flush(true)
	return v
}

// stop stops a watch like a server, and reports whether it existed.
func (c *client) stop(v *view) bool {
	id := c.idOf(v)
	if !c.hub.Stop(c, id) {
		return false
	}
	c.Append(func(e *protocol.Encoder, buf *bytebufferpool.ByteBuffer) {
		e.Answer(buf, id, &protocol.WatchStopAnswer{})
	})
	c.Flush(true)
	return true
}

func (c *client) idOf(v *view) uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	for id, x := range c.views {
		if x == v {
			return id
		}
	}
	return 0
}

// close breaks the connection.
func (c *client) close() {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.hub.Gone(c)
}

// look returns a copy of a view.
func (c *client) look(v *view) view {
	c.mu.Lock()
	defer c.mu.Unlock()
	return *v
}

// expect checks that a view equals the machine's state.
func (c *client) expect(v *view, m *machine.Machine) {
	c.t.Helper()
	want, _ := stateOf(m, v.node, v.name)
	c.expectState(v, want)
}

// expectState checks that a view shows the wanted part of a state.
func (c *client) expectState(v *view, want state) {
	c.t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	if want = want.as(v.wants); !v.begun || !v.state.equal(want) {
		c.t.Errorf("the view of %v (complete: %v, revision %d, %d snapshots, %d deltas) is\n%v, the machine has\n%v",
			v, v.begun, v.revision, v.snapshots, v.deltas, v.state, want)
	}
}
