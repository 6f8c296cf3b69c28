package pipeline

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// asked are commands from some flows in a fair queue. A command is its flow's name with a counter.
type asked struct {
	t     *testing.T
	flows flows
	all   map[string]*flow
	sent  map[string]uint64
	got   map[string]uint64
	of    map[*Source]string
	conns map[string]*Source
}

func newAsked(t *testing.T) *asked {
	a := &asked{
		t: t, all: map[string]*flow{}, sent: map[string]uint64{}, got: map[string]uint64{},
		of: map[*Source]string{}, conns: map[string]*Source{},
	}
	a.flows.init(DefaultQueuedBytes)
	return a
}

// join creates a connection's flow.
func (a *asked) join(name, token, address string) {
	c := &Source{}
	a.all[name], a.conns[name], a.of[c] = a.flows.add(token, address), c, name
}

// ask queues commands with the given size.
func (a *asked) ask(name string, n, size int) {
	for range n {
		a.sent[name]++
		encoded := make([]byte, size)
		encoded[0] = byte(a.sent[name])
		o := Op{Source: a.conns[name], Ticket: Ticket{Request: a.sent[name]}, size: int32(size)}
		a.flows.push(a.all[name], o, encoded)
	}
}

// batch takes a batch and returns the command count per flow. Each flow's commands must be in order.
func (a *asked) batch(p share) map[string]int {
	a.t.Helper()
	ops, data := a.flows.take(nil, nil, p)
	counts := map[string]int{}
	for _, o := range ops {
		name := a.of[o.Source]
		a.got[name]++
		if o.Request != a.got[name] || data[0] != byte(o.Request) {
			a.t.Fatalf("command %d of %s comes, as %d; want %d", o.Request, name, data[0], a.got[name])
		}
		data = data[o.size:]
		counts[name]++
	}
	if len(data) != 0 {
		a.t.Fatalf("%d bytes are nobody's", len(data))
	}
	return counts
}

const inAShare = flowQuantum/(100+commandCost) + 1 // 100-byte commands; the last may go into debt

func TestWhoAsksForLittleIsInTheNextBatch(t *testing.T) {
	a := newAsked(t)
	a.join("flood", "", "here")
	a.join("victim", "", "here")
	a.ask("flood", 10_000, 100)
	for range 20 {
		a.ask("victim", 1, 100)
		counts := a.batch(mixed)
		if counts["victim"] != 1 || counts["flood"] == 0 || counts["flood"] > 2*inAShare {
			t.Fatalf("a batch has %v", counts)
		}
	}
}

func TestConnectionsOfOneAddressShareAlike(t *testing.T) {
	a := newAsked(t)
	sizes := map[string]int{"a": 100, "b": 100, "c": 1000, "d": 60_000}
	for name, size := range sizes {
		a.join(name, "", "here")
		a.ask(name, 20_000_000/size, size)
	}
	cost := map[string]int{}
	for range 400 {
		for name, n := range a.batch(mixed) {
			cost[name] += n * (sizes[name] + commandCost)
		}
	}
	for name := range sizes {
		if share := float64(cost[name]) / (400 * flowQuantum); share < 0.97 || share > 1.03 {
			t.Errorf("%s had %.2f of its share", name, share)
		}
	}
}

// TestTokensAndThenAddressesShareAlike: a token or an address has one share, for any number of connections.
func TestTokensAndThenAddressesShareAlike(t *testing.T) {
	a := newAsked(t)
	a.join("lonely", "one", "x")
	a.ask("lonely", 20_000, 100)
	for i := range 30 {
		name := fmt.Sprintf("many-%d", i)
		a.join(name, "two", "x")
		a.ask(name, 3_000, 100)
	}
	a.join("aside", "two", "y")
	a.ask("aside", 20_000, 100)
	sum := map[string]int{}
	for range 100 {
		for name, n := range a.batch(mixed) {
			sum[name[:4]] += n
		}
	}
	// Per batch, each connection has one quantum, an address two, and a token four.
	lone, aside, many := sum["lone"], sum["asid"], sum["many"]
	if many < lone || many > 4*lone || aside < many/4 || many+aside > 6*lone {
		t.Fatalf("lonely had %d, aside %d, and the many %d", lone, aside, many)
	}
}

// TestLargeCommandsLeaveRoomForOthers: large commands are limited to one batch at a time, in turn, and other sources do
// not wait.
func TestLargeCommandsLeaveRoomForOthers(t *testing.T) {
	a := newAsked(t)
	for i := range 4 {
		name := fmt.Sprintf("flood-%d", i)
		a.join(name, "", "here")
		a.ask(name, 100, 60_000)
	}
	a.join("victim", "", "here")
	floods := 0
	for i := range 100 {
		a.ask("victim", 1, 100)
		p := mixed
		if i%2 == 1 {
			p.large = 0 // some are under way
		}
		counts := a.batch(p)
		if counts["victim"] != 1 {
			t.Fatalf("batch %d has %v", i, counts)
		}
		if n := a.flows.root.queued; n != 400-floods-len(counts)+1 {
			t.Fatalf("batch %d has %v, and %d are left", i, counts, n)
		}
		if floods += len(counts) - 1; len(counts)-1 != 1-i%2 {
			t.Fatalf("batch %d has %v", i, counts)
		}
	}
	for i := range 4 {
		if n := a.got[fmt.Sprintf("flood-%d", i)]; n < 8 || n > 17 {
			t.Errorf("flood %d had %d of %d", i, n, floods)
		}
	}
	if none := a.batch(share{scale: 1}); len(none) != 0 {
		t.Fatalf("a batch has %v; only large commands wait, and there may be none", none)
	}
}

// TestTheHostHasAPartOfItsOwn: the host neither starves nor is starved.
func TestTheHostHasAPartOfItsOwn(t *testing.T) {
	a := newAsked(t)
	for i := range 8 {
		name := fmt.Sprintf("flood-%d", i)
		a.join(name, "token", "here")
		a.ask(name, 8_000, 100)
	}
	a.all["host"], a.conns["host"] = a.flows.host, &Source{}
	a.of[a.conns["host"]] = "host"
	a.ask("host", 10_000, 1000)
	host, others := 0, 0
	for range 100 {
		counts := a.batch(calm)
		host += counts["host"]
		delete(counts, "host")
		for _, n := range counts {
			others += n
		}
	}
	if host < 1000 || others < 1000 {
		t.Fatalf("the host had %d, others %d", host, others)
	}
	if !a.flows.admits(a.flows.host) {
		t.Error("the host is refused because others fill the queue")
	}
}

// TestWhoHasMuchQueuedIsRefusedFirst: a source that fills its share of the queue is refused; a source with few commands
// is not.
func TestWhoHasMuchQueuedIsRefusedFirst(t *testing.T) {
	a := newAsked(t)
	for i := range 4 {
		a.join(fmt.Sprintf("flood-%d", i), "one", "here")
	}
	a.join("victim", "one", "here")
	a.join("other", "two", "here")
	for n := 0; ; n++ {
		name := fmt.Sprintf("flood-%d", n%4)
		if !a.flows.admits(a.all[name]) {
			break
		}
		a.ask(name, 1, 10)
	}
	if n := a.flows.root.queued; n != maxQueuedCommands/2 {
		t.Fatalf("%d are queued when a token is refused; want half of %d", n, maxQueuedCommands)
	}
	for _, name := range []string{"victim", "other"} {
		for range lightCommands {
			if !a.flows.admits(a.all[name]) {
				t.Fatalf("%s is refused", name)
			}
			a.ask(name, 1, 10)
		}
	}
	if a.flows.admits(a.all["victim"]) {
		t.Error("one that has much queued is admitted, of a token that has filled its part")
	}
	if !a.flows.admits(a.all["other"]) {
		t.Error("one of another token is refused")
	}
}

// TestEverythingComesInTheOrderOfItsConnection: every queued command is taken, in order for each connection; and closed
// connections leave nothing behind.
func TestEverythingComesInTheOrderOfItsConnection(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	a := newAsked(t)
	var names []string
	for step := range 3_000 {
		switch roll := random.IntN(10); {
		case roll == 0 && len(names) < 30:
			name := fmt.Sprintf("conn-%d", step)
			a.join(name, fmt.Sprint("token-", random.IntN(3)), fmt.Sprint("address-", random.IntN(3)))
			names = append(names, name)
		case roll == 1 && len(names) > 0:
			at := random.IntN(len(names))
			a.flows.close(a.all[names[at]])
			names = append(names[:at], names[at+1:]...)
		case roll < 6 && len(names) > 0:
			a.ask(names[random.IntN(len(names))], 1+random.IntN(100), 1+random.IntN(1+random.IntN(20_000)))
		default:
			p := []share{calm, mixed, {scale: 1}}[random.IntN(3)]
			if counts := a.batch(p); len(counts) == 0 && a.flows.root.queued > 0 && p.large > 0 {
				t.Fatalf("step %d: an empty batch, and %d wait", step, a.flows.root.queued)
			}
		}
	}
	for a.flows.root.queued > 0 {
		a.batch(calm)
	}
	for name, n := range a.sent {
		if a.got[name] != n {
			t.Errorf("%s: %d of %d came", name, a.got[name], n)
		}
	}
	for _, name := range names {
		a.flows.close(a.all[name])
	}
	if len(a.flows.root.below) != 0 || a.flows.root.bytes != 0 || a.flows.root.active != 0 {
		r := &a.flows.root
		t.Errorf("%d tokens, %d bytes, %d active are left", len(r.below), r.bytes, r.active)
	}
}

// BenchmarkFlows is a command through a queue with many connections.
func BenchmarkFlows(b *testing.B) {
	var q flows
	q.init(DefaultQueuedBytes)
	all := make([]*flow, 512)
	for i := range all {
		all[i] = q.add("", fmt.Sprint(i%10))
	}
	command := make([]byte, 60)
	var ops []Op
	var data []byte
	b.ReportAllocs()
	for n := 0; b.Loop(); n++ {
		q.push(all[n%len(all)], Op{size: 60}, command)
		if n%len(all) == 0 {
			for q.root.queued > 0 {
				ops, data = q.take(ops[:0], data[:0], mixed)
			}
		}
	}
}
