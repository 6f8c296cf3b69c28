package view

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/valyala/bytebufferpool"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/watch"
	"github.com/signalbox/signalbox/shard"
)

const kindTable protocol.ObjectKind = 200

// board is a machine with one object of a test-only kind: the object has a head and rows, and is watched as a whole.
type board struct {
	mu     sync.Mutex
	last   shard.Revision
	base   shard.Revision // 0: the object does not exist
	head   string
	headAt shard.Revision
	rows   map[uint64]string
	at     map[uint64]shard.Revision // when rows changed last
}

func (b *board) Changes(_ shard.Ref, since shard.Revision, d *shard.Delta) shard.DeltaKind {
	b.mu.Lock()
	defer b.mu.Unlock()
	*d = shard.Delta{To: b.last}
	switch {
	case since > b.last:
		return shard.DeltaBehind
	case b.base == 0:
		return shard.DeltaAbsent
	case since == b.last:
		return shard.DeltaNone
	case since < b.base:
		return shard.DeltaSnapshot
	}
	for _, id := range slices.Sorted(maps.Keys(b.at)) {
		if body, there := b.rows[id]; b.at[id] > since && there {
			d.Rows = append(d.Rows, shard.Row{ID: id, Body: []byte(body)})
		} else if b.at[id] > since {
			d.Gone = append(d.Gone, shard.OrderID(id))
		}
	}
	d.DataChanged, d.Data = b.headAt > since, b.head
	return shard.DeltaChanges
}

func (b *board) Describe(_ shard.Ref, o shard.DescribeOptions, d *shard.Description) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	*d = shard.Description{}
	d.Revision, d.Data = b.last, b.head
	for _, id := range slices.Sorted(maps.Keys(b.rows)) {
		if o.Rows && id > uint64(o.After) {
			d.Rows = append(d.Rows, shard.Row{ID: id, Body: []byte(b.rows[id])})
		}
	}
	return b.base != 0
}

// change makes a random change.
func (b *board) change(random *rand.Rand) []shard.Effect {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.last++
	id := uint64(1 + random.IntN(300))
	switch n := random.IntN(40); {
	case b.base == 0:
		b.base, b.headAt, b.head = b.last, b.last, ""
		b.rows, b.at = make(map[uint64]string), make(map[uint64]shard.Revision)
	case n == 0:
		b.base = 0
	case n < 5:
		b.head, b.headAt = fmt.Sprint("head ", b.last), b.last
	case n < 15:
		delete(b.rows, id)
		b.at[id] = b.last
	default:
		b.rows[id], b.at[id] = strings.Repeat(fmt.Sprint(b.last), random.IntN(9)), b.last
	}
	flags := shard.FlagOwners
	return []shard.Effect{{Kind: shard.EffectChanged, Flags: flags, Node: 1, Name: "table", Revision: b.last}}
}

// line is a connection from a hub to a client's watches.
type line struct {
	mu      sync.Mutex
	encoder *protocol.Encoder
	decoder *protocol.AnswerDecoder
	buf     bytebufferpool.ByteBuffer
	streams map[uint64]*stream
	bytes   int
}

func newLine() *line {
	return &line{
		encoder: protocol.NewEncoder(), decoder: protocol.NewAnswerDecoder(), streams: make(map[uint64]*stream),
	}
}

func (l *line) Append(write func(*protocol.Encoder, *bytebufferpool.ByteBuffer)) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	write(l.encoder, &l.buf)
	return true
}

func (l *line) Flush(bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.bytes += len(l.buf.B)
	for rest := l.buf.B; len(rest) > 0; {
		payload, size, err := protocol.ScanFrame(rest, 1<<20)
		if err != nil {
			panic(err)
		}
		a, err := l.decoder.Decode(payload)
		if err != nil {
			panic(err)
		}
		l.streams[a.ID].Answered(nil, a)
		rest = rest[size:]
	}
	l.buf.Reset()
}

func (l *line) Pending() int { return 0 }
func (l *line) Ended(uint64) {}

// open opens a watch's stream at a hub, from its view's revision.
func (l *line) open(t *testing.T, h *watch.Hub, id uint64, s *sharedWatch) {
	st := &stream{watch: s}
	s.mu.Lock()
	m := s.request()
	s.draft, s.current, s.ended = draft{}, st, nil
	s.mu.Unlock()
	l.mu.Lock()
	l.streams[id] = st
	l.mu.Unlock()
	if err := h.Open(l, id, m); err != nil {
		t.Fatal(err)
	}
	l.Flush(true)
}

func newSharedWatch(key Key) *sharedWatch {
	return &sharedWatch{key: key, wake: make(chan struct{}, 1), readers: make(map[*reader]struct{})}
}

var tableKey = Key{Node: 1, Name: "table", Kind: kindTable, View: "all"}

// expect checks that the view equals the object.
func (b *board) expect(t *testing.T, s *sharedWatch) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	v := s.view
	if s.ended != nil || v == nil || v.Exists != (b.base != 0) {
		t.Fatalf("ended: %v, view: %+v", s.ended, v)
	}
	rows := make(map[uint64]string)
	for r := range v.Rows.All() {
		rows[r.ID] = string(r.Body)
	}
	if !v.Exists && (len(rows) > 0 || len(v.Data) > 0) {
		t.Fatalf("there is nothing, and yet %d rows", len(rows))
	}
	if v.Exists && (string(v.Data) != b.head || !maps.Equal(rows, b.rows) || v.Owners.Len() > 0) {
		t.Fatalf("revision %d of %d: the view has the head %q and %d rows, there are %q and %d", v.Revision, b.last,
			v.Data, len(rows), b.head, len(b.rows))
	}
}

// TestAViewOfRowsFollowsAHubAndGoesOnAtAnother: two hubs serve the same machine; now and then the stream moves to the
// other hub.
func TestAViewOfRowsFollowsAHubAndGoesOnAtAnother(t *testing.T) {
	for seed := range uint64(20) {
		synctest.Test(t, func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 1))
			b := &board{}
			hubs := []*watch.Hub{watch.New(b, watch.Options{PageBytes: 200}), watch.New(b, watch.Options{})}
			s, l := newSharedWatch(tableKey), newLine()
			id, at := uint64(0), 0
			for step := range 300 {
				if step == 0 || random.IntN(30) == 0 {
					if id++; id > 1 {
						hubs[at].Stop(l, id-1)
					}
					at = random.IntN(len(hubs))
					l.open(t, hubs[at], id, s)
				}
				for range 1 + random.IntN(3) {
					effects := b.change(random)
					for _, h := range hubs {
						if err := h.Apply(effects, time.Now()); err != nil {
							t.Fatal(err)
						}
					}
				}
				if random.IntN(2) == 0 {
					synctest.Wait()
					time.Sleep(50 * time.Millisecond)
					synctest.Wait()
					b.expect(t, s)
				}
			}
			for _, h := range hubs {
				h.Close()
			}
		})
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// TestReadersOfOneViewShareOneSmallDelta: ten thousand readers of a view of ten thousand rows cost one watch, and one
// row's change is one small frame. Each reader sees the change once.
func TestReadersOfOneViewShareOneSmallDelta(t *testing.T) {
	const readers, rows = 10_000, 10_000
	synctest.Test(t, func(t *testing.T) {
		b := &board{base: 1, headAt: 1, last: rows, rows: make(map[uint64]string), at: make(map[uint64]shard.Revision)}
		for id := range uint64(rows) {
			b.rows[id+1], b.at[id+1] = "body", shard.Revision(id+1)
		}
		h := watch.New(b, watch.Options{})
		s, l := newSharedWatch(tableKey), newLine()
		l.open(t, h, 1, s)
		synctest.Wait()
		b.expect(t, s)
		all := make([]*reader, readers)
		before := s.view
		for i := range all {
			all[i] = s.addReader()
			if v, err := s.next(t.Context(), all[i]); v != before || err != nil {
				t.Fatalf("%p, %v", v, err)
			}
		}
		sent := l.bytes
		b.mu.Lock()
		b.last++
		b.rows[7], b.at[7] = "other", b.last
		b.mu.Unlock()
		if err := h.Apply([]shard.Effect{{Kind: shard.EffectChanged, Flags: shard.FlagOwners, Node: 1, Name: "table",
			Revision: b.last}}, time.Now()); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		b.expect(t, s)
		if got := l.bytes - sent; got > 60 {
			t.Errorf("%d bytes were sent for one row", got)
		}
		over, stop := context.WithCancelCause(t.Context())
		stop(errors.New("nothing is new"))
		changed := 0
		Difference(before.Rows, s.view.Rows, func(was, is *Row) {
			if changed++; string(was.Body) != "body" || string(is.Body) != "other" || is.ID != 7 {
				t.Errorf("%v has become %v", was, is)
			}
		})
		if changed != 1 {
			t.Errorf("%d rows differ", changed)
		}
		for _, r := range all {
			if v, err := s.next(t.Context(), r); v != s.view || err != nil {
				t.Fatalf("%p, %v", v, err)
			}
			if v, err := s.next(over, r); err == nil {
				t.Fatalf("a reader was shown %p twice", v)
			}
		}
		h.Close()
	})
}

// TestAHostThatPassesOverTheKindIsNoHostForIt: such a host would show a semaphore with the name, or none.
func TestAHostThatPassesOverTheKindIsNoHostForIt(t *testing.T) {
	for kind, want := range map[protocol.ObjectKind]error{kindTable: nil, 0: protocol.ErrUnsupported} {
		s := newSharedWatch(tableKey)
		st := &stream{watch: s}
		s.current = st
		a := &protocol.Answer{Kind: protocol.KindWatch.Answer()}
		a.Watch.ObjectKind = kind
		st.Answered(nil, a)
		a = &protocol.Answer{Kind: protocol.KindWatchSnapshot}
		a.WatchSnapshot = protocol.WatchSnapshot{Revision: 3, First: true, Last: true}
		st.Answered(nil, a)
		if !errors.Is(s.ended, want) || (want == nil) != (s.view != nil) {
			t.Errorf("kind %d: ended with %v, the view is %v", kind, s.ended, s.view)
		}
	}
}
