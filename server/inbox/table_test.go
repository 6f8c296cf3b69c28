package inbox

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/signalbox/signalbox/protocol"
	kind "github.com/signalbox/signalbox/protocol/process"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/process"
)

// boxes are a machine's inboxes: each item is a request with a given size.
type boxes struct {
	mu  sync.Mutex
	all map[shard.OrderID]*box
}

type box struct {
	acked, last uint64
	bytes       int
}

func (b *boxes) Inbox(_ shard.NodeID, _ []byte, _ shard.SessionID, member shard.OrderID, after uint64, most int,
	dst []process.Delivery) ([]process.Delivery, process.InboxPosition, process.Answer) {
	b.mu.Lock()
	defer b.mu.Unlock()
	x := b.all[member]
	if x == nil {
		return dst, process.InboxPosition{}, process.Answer{Status: protocol.StatusNotFound, Text: "no such member"}
	}
	ahead := int(max(after, x.acked)-x.acked) * x.bytes
	for seq := max(after, x.acked) + 1; seq <= x.last && (ahead == 0 || ahead+x.bytes <= most); seq++ {
		ahead += x.bytes
		dst = append(dst, process.Delivery{Seq: seq, Kind: kind.ItemRequest, Payload: make([]byte, x.bytes)})
	}
	return dst, process.InboxPosition{Acked: x.acked, LastSeq: x.last}, process.Answer{}
}

// put puts items into an inbox, created if missing.
func (b *boxes) put(member shard.OrderID, items, bytes int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	x := b.all[member]
	if x == nil {
		x = &box{}
		b.all[member] = x
	}
	x.last += uint64(items)
	x.bytes = bytes
}

func (b *boxes) ack(member shard.OrderID, seq uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.all[member].acked = seq
}

func (b *boxes) remove(member shard.OrderID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.all, member)
}

// line is a connection that records pushes.
type line struct {
	mu      sync.Mutex
	got     []string
	pending int
	full    int // limit for pending
	flushed int
	away    bool // sessions no longer act over the connection
}

func (l *line) Push(_ uint64, m protocol.PushMessage) {
	push := m.(*protocol.Inbox)
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range push.Items.All() {
		l.got = append(l.got, fmt.Sprintf("%d:%d", push.MemberID, i.Seq))
	}
	if push.End != (protocol.Result{}) {
		l.got = append(l.got, fmt.Sprintf("%d %v %s", push.MemberID, push.End.Status, push.End.Message))
	}
	l.pending = min(l.full, l.pending+push.Items.Size())
}

func (l *line) Flush(bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.flushed++
}

func (l *line) Pending() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.pending
}

func (l *line) Acts(shard.SessionID) bool { return !l.away }

// said returns the pushes since its last call.
func (l *line) said() string {
	synctest.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	text := fmt.Sprint(l.got)
	l.got = nil
	return text
}

// answer records the answer to Open.
func (l *line) answer(at process.InboxPosition) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.got = append(l.got, fmt.Sprintf("open %d to %d", at.Acked, at.LastSeq))
	return true
}

// room is a table with a machine behind it.
type room struct {
	*Table
	boxes *boxes
}

func play(t *testing.T, f func(t *testing.T, r *room)) {
	synctest.Test(t, func(t *testing.T) {
		b := &boxes{all: make(map[shard.OrderID]*box)}
		r := &room{New(Config{Machine: b, AheadBytes: 1000, PushBytes: 300, SlowBytes: 500}), b}
		f(t, r)
		r.Wait()
	})
}

func (r *room) open(t *testing.T, member shard.OrderID, l *line, after uint64) {
	t.Helper()
	if got := r.Open(Member{Session: shard.SessionID(member), ID: member}, l, after, l.answer); got.Status != 0 {
		t.Fatalf("open: %v", got)
	}
}

func same(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s:\n got %s\nwant %s", what, got, want)
	}
}

func TestItemsArePushedOnceInOrderBehindTheAnswer(t *testing.T) {
	play(t, func(t *testing.T, r *room) {
		l := &line{}
		r.boxes.put(1, 2, 10)
		r.open(t, 1, l, 0)
		same(t, "what stands there", l.said(), "[open 0 to 2 1:1 1:2]")
		r.Deliver()
		r.Note(1, 1)
		r.Deliver()
		same(t, "nothing new", l.said(), "[]")
		r.boxes.put(1, 1, 10)
		r.Note(1, 1)
		r.Note(2, 2) // is not open
		r.Deliver()
		same(t, "what is new", l.said(), "[1:3]")
		r.boxes.ack(1, 3)
		r.open(t, 1, l, 3)
		same(t, "what the client has does not come again", l.said(), "[open 3 to 3]")
		r.open(t, 1, l, 1)
		same(t, "nor what it has acknowledged", l.said(), "[open 3 to 3]")
	})
}

// TestMembersOfOneOrderIDAreDistinct: distinguished by session, because slots move between shards, and two shards may
// assign equal order ids.
func TestMembersOfOneOrderIDAreDistinct(t *testing.T) {
	play(t, func(t *testing.T, r *room) {
		lines := []*line{{}, {}}
		r.boxes.put(7, 1, 10)
		for i, l := range lines {
			if got := r.Open(Member{Session: shard.SessionID(i + 1), ID: 7}, l, 0, l.answer); got.Status != 0 {
				t.Fatal(got)
			}
		}
		for i, l := range lines {
			same(t, fmt.Sprint("opened by session ", i+1), l.said(), "[open 0 to 1 7:1]")
		}
		r.boxes.put(7, 1, 10)
		r.Note(1, 7)
		r.Deliver()
		same(t, "to the session that is noted", lines[0].said(), "[7:2]")
		same(t, "to the other one", lines[1].said(), "[]")
		r.boxes.remove(7)
		r.Lost(2, 7, "kicked")
		r.Deliver()
		same(t, "to the session that lost its part", lines[1].said(), "[7 NOT_FOUND kicked]")
		same(t, "to the other one", lines[0].said(), "[]")
		if r.Len() != 1 {
			t.Errorf("%d are open, want 1", r.Len())
		}
	})
}

func TestWhatIsPushedAheadIsBounded(t *testing.T) {
	play(t, func(t *testing.T, r *room) {
		l := &line{}
		r.boxes.put(1, 20, 240)
		r.open(t, 1, l, 0)
		same(t, "four items fit", l.said(), "[open 0 to 20 1:1 1:2 1:3 1:4]")
		if n := r.Counts(); n.Pushes != 2 || n.Items != 4 {
			t.Errorf("%+v: items of 500 bytes go in one push", n)
		}
		r.boxes.ack(1, 1)
		r.Note(1, 1)
		r.Deliver()
		same(t, "room for one", l.said(), "[1:5]")
		r.boxes.put(2, 2, 5000)
		r.open(t, 2, l, 0)
		same(t, "one that does not fit goes alone", l.said(), "[open 0 to 2 2:1]")
		r.boxes.ack(2, 1)
		r.Note(2, 2)
		r.Deliver()
		same(t, "the next", l.said(), "[2:2]")
	})
}

// TestASlowConnectionIsLeftOut: other connections get their items, and the slow connection continues once drained.
func TestASlowConnectionIsLeftOut(t *testing.T) {
	play(t, func(t *testing.T, r *room) {
		slow, quick := &line{full: 600}, &line{}
		for k, l := range []*line{slow, quick, slow} {
			r.boxes.put(shard.OrderID(k+1), 3, 240)
			r.open(t, shard.OrderID(k+1), l, 0)
			l.said()
		}
		for k := shard.OrderID(1); k <= 3; k++ {
			r.boxes.ack(k, 3)
			r.boxes.put(k, 1, 240)
			r.Note(shard.SessionID(k), k)
		}
		r.Deliver()
		same(t, "the quick one", quick.said(), "[2:4]")
		same(t, "the slow one", slow.said(), "[]")
		slow.mu.Lock()
		slow.pending, slow.full = 0, 0
		slow.mu.Unlock()
		r.Drained(slow)
		same(t, "when it has drained", slow.said(), "[3:4 1:4]")
		if r.Counts().Held == 0 {
			t.Error("that it waited is not counted")
		}
		if len(r.late) > 0 {
			t.Errorf("%d connections are waited for", len(r.late))
		}
	})
}

// TestAConnectionThatDrainsBetweenTheLooks: the connection is listed before the next look.
func TestAConnectionThatDrainsBetweenTheLooks(t *testing.T) {
	play(t, func(t *testing.T, r *room) {
		l := &flicker{}
		r.boxes.put(1, 1, 10)
		if got := r.Open(Member{Session: 1, ID: 1}, l, 0, l.answer); got.Status != 0 {
			t.Fatal(got)
		}
		same(t, "pushed", l.said(), "[open 0 to 1 1:1]")
	})
}

// flicker is slow at its first check only.
type flicker struct {
	line
	looks int
}

func (f *flicker) Pending() int {
	if f.looks++; f.looks == 1 {
		return 1000
	}
	return 0
}

func TestAnInboxEnds(t *testing.T) {
	for _, x := range []struct {
		name   string
		does   func(r *room, l *line)
		says   string
		remain int
	}{
		{"lost, with a reason", func(r *room, _ *line) {
			r.boxes.remove(1)
			r.Lost(1, 1, "kicked")
			r.Deliver()
		}, "[1 NOT_FOUND kicked]", 1},
		{"lost, by what the machine says", func(r *room, _ *line) {
			r.boxes.remove(1)
			r.NoteSession(1)
			r.Deliver()
		}, "[1 NOT_FOUND no such member]", 1},
		{"all", func(r *room, _ *line) {
			r.boxes.remove(2)
			r.End(protocol.Result{Status: protocol.StatusUnavailable, Message: "gone"})
		}, "[1 UNAVAILABLE gone]", 0},
		{"taken over", func(r *room, _ *line) {
			r.Open(Member{Session: 1, ID: 1}, &line{}, 0, func(process.InboxPosition) bool { return true })
		}, "[1 BAD_SESSION the inbox was opened on another connection]", 2},
		{"another was about to take it over", func(r *room, _ *line) {
			r.Open(Member{Session: 1, ID: 1}, &line{}, 0, func(process.InboxPosition) bool { return false })
		}, "[1 UNAVAILABLE another connection is opening the inbox]", 1},
		{"forgotten", func(r *room, l *line) { r.Forget(1, l) }, "[]", 1},
		{"forgotten over another connection", func(r *room, _ *line) { r.Forget(1, &line{}) }, "[1:2]", 2},
	} {
		t.Run(x.name, func(t *testing.T) {
			play(t, func(t *testing.T, r *room) {
				l := &line{}
				for k := shard.OrderID(1); k <= 2; k++ {
					r.boxes.put(k, 1, 10)
				}
				r.open(t, 1, l, 0)
				r.open(t, 2, &line{}, 0)
				l.said()
				x.does(r, l)
				got := l.said()
				if r.Len() != x.remain {
					t.Errorf("%d inboxes are open, want %d", r.Len(), x.remain)
				}
				r.boxes.mu.Lock()
				one := r.boxes.all[1]
				if one != nil {
					one.last++
				}
				r.boxes.mu.Unlock()
				r.Note(1, 1)
				r.Deliver()
				if got == "[]" {
					got = l.said()
				} else if more := l.said(); more != "[]" {
					t.Errorf("behind the end comes %s", more)
				}
				same(t, "it says", got, x.says)
				if len(r.sessions) != r.Len() {
					t.Errorf("%d sessions are known", len(r.sessions))
				}
			})
		})
	}
}

func TestAnInboxIsNotOpened(t *testing.T) {
	play(t, func(t *testing.T, r *room) {
		l := &line{away: true}
		r.boxes.put(1, 1, 10)
		got := r.Open(Member{Session: 1, ID: 1}, l, 0, l.answer)
		same(t, "over a connection that the session does not act over", got.Status.String(), "BAD_SESSION")
		got = r.Open(Member{Session: 2, ID: 2}, &line{}, 0, l.answer)
		same(t, "of no member", got.Message, "no such member")
		same(t, "what the connection hears", l.said(), "[]")
		if r.Len() != 0 || len(r.sessions)+len(r.members) > 0 {
			t.Errorf("%d are open", r.Len())
		}
	})
}

// TestManyArePushedByAGoroutineThatEnds: Deliver does not wait for the pushes.
func TestManyArePushedByAGoroutineThatEnds(t *testing.T) {
	play(t, func(t *testing.T, r *room) {
		const members = 100
		lines := make([]*line, members)
		for k := range lines {
			lines[k] = &line{}
			r.boxes.put(shard.OrderID(k+1), 1, 10)
			r.open(t, shard.OrderID(k+1), lines[k], 0)
			lines[k].said()
		}
		for round := range 3 {
			for k := range lines {
				r.boxes.put(shard.OrderID(k+1), 1, 10)
				r.Note(shard.SessionID(k+1), shard.OrderID(k+1))
			}
			r.Deliver()
			for k := range lines {
				same(t, "pushed", lines[k].said(), fmt.Sprintf("[%d:%d]", k+1, round+2))
			}
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.delivering {
			t.Error("somebody delivers still")
		}
	})
}

// TestOpenedNotedAndForgottenAtOnce: with any interleaving, each line gets seqs in order, each once per opening, and
// nothing after an end. Run with the race detector.
func TestOpenedNotedAndForgottenAtOnce(t *testing.T) {
	b := &boxes{all: make(map[shard.OrderID]*box)}
	r := New(Config{Machine: b, AheadBytes: 1 << 20})
	const members, turns = 8, 200
	var all sync.WaitGroup
	for k := shard.OrderID(1); k <= members; k++ {
		b.put(k, 1, 10)
		all.Go(func() {
			for range turns {
				b.put(k, 1, 10)
				r.Note(shard.SessionID(k), k)
				r.Deliver()
			}
		})
		all.Go(func() {
			for turn := range turns {
				l := &ordered{t: t}
				r.Open(Member{Session: shard.SessionID(k), ID: k}, l, 0,
					func(process.InboxPosition) bool { return true })
				switch turn % 4 {
				case 0:
					r.Forget(shard.SessionID(k), l)
				case 1:
					r.End(protocol.Result{Status: protocol.StatusUnavailable})
				}
			}
		})
	}
	all.Wait()
	r.End(protocol.Result{Status: protocol.StatusUnavailable})
	r.Wait()
	if r.Len() != 0 || len(r.members)+len(r.sessions) > 0 {
		t.Errorf("%d are open", r.Len())
	}
}

// ordered is a connection with one opening that checks its pushes.
type ordered struct {
	t    *testing.T
	mu   sync.Mutex
	last uint64
	over bool
}

func (o *ordered) Push(_ uint64, m protocol.PushMessage) {
	push := m.(*protocol.Inbox)
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.over {
		o.t.Error("something comes behind the end")
	}
	for i := range push.Items.All() {
		if i.Seq != o.last+1 {
			o.t.Errorf("seq %d comes behind %d", i.Seq, o.last)
		}
		o.last = i.Seq
	}
	o.over = push.End != (protocol.Result{})
}

func (o *ordered) Flush(bool)                {}
func (o *ordered) Pending() int              { return 0 }
func (o *ordered) Acts(shard.SessionID) bool { return true }
