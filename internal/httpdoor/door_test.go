package httpdoor

import (
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"
)

// socket is a connection that knows whether it was closed.
type socket struct {
	net.Conn
	from   net.Addr
	closed bool
}

func (s *socket) RemoteAddr() net.Addr { return s.from }

func (s *socket) Close() error {
	s.closed = true
	return nil
}

// visit lets a connection from an address in.
func visit(d *Door, address string) *Conn {
	return d.admit(&socket{from: &net.TCPAddr{IP: net.ParseIP(address), Port: 1}})
}

// open are those connections that were not closed, by their places in the list.
func open(all []*Conn) (list []int) {
	for i, c := range all {
		if !c.Conn.(*socket).closed {
			list = append(list, i)
		}
	}
	return list
}

func expect(t *testing.T, what string, all []*Conn, expected ...int) {
	t.Helper()
	if got := open(all); !slices.Equal(got, expected) {
		t.Errorf("%s: open are %v, not %v", what, got, expected)
	}
}

// TestTheLongestIdleIsClosedForAnother: of the address first, and then of all; tokens come last, and what works stays.
func TestTheLongestIdleIsClosedForAnother(t *testing.T) {
	d := New(Limits{Connections: 4, OfAddress: 2})
	var all []*Conn
	come := func(address string) { all = append(all, visit(d, address)) }
	come("10.0.0.1")
	come("10.0.0.2")
	come("10.0.0.2")
	d.moved(all[1], true)
	come("10.0.0.2")
	expect(t, "one address has too many", all, 0, 1, 3)
	come("10.0.0.3")
	all[0].Shown(true)
	come("10.0.0.4")
	expect(t, "all are too many", all, 0, 3, 4, 5)
	if !all[3].Begin() {
		t.Error("an open connection cannot begin")
	}
	come("10.0.0.5")
	expect(t, "one works", all, 0, 3, 5, 6)
	all[3].End()
	for i := range 4 {
		come(fmt.Sprintf("10.0.1.%d", i))
	}
	expect(t, "one has a token", all, 0, 8, 9, 10)
	all[0].Shown(false)
	for i := range 4 {
		come(fmt.Sprintf("10.0.2.%d", i))
	}
	expect(t, "it has none any more", all, 11, 12, 13, 14)
	if all[0].Begin() {
		t.Error("a connection that was closed begins")
	}
}

// TestAConnectionOfAProxyCountsForItsClient while a request is under way, and for no other address.
func TestAConnectionOfAProxyCountsForItsClient(t *testing.T) {
	d := New(Limits{Connections: 100, OfAddress: 2, Proxies: Proxies{netip.MustParsePrefix("10.0.0.1/32")}})
	var all []*Conn
	for range 6 {
		all = append(all, visit(d, "10.0.0.1"))
	}
	expect(t, "connections of the proxy", all, 0, 1, 2, 3, 4, 5)
	stranger := netip.MustParseAddr("192.0.2.1")
	for _, c := range all[:4] {
		c.Counts(stranger)
	}
	expect(t, "four of one client", all, 2, 3, 4, 5)
	d.moved(all[2], true)
	all[4].Counts(stranger)
	expect(t, "a request has ended", all, 2, 3, 4, 5)
	all[5].Counts(netip.MustParseAddr("192.0.2.2"))
	expect(t, "another client", all, 2, 3, 4, 5)
}

// TestWhatIsLongestUnderWayIsClosedForBytes, and what is small, or works, is not.
func TestWhatIsLongestUnderWayIsClosedForBytes(t *testing.T) {
	d := New(Limits{Connections: 100, OfAddress: 100, Bytes: 100 << 10})
	var all []*Conn
	hold := func(i, bytes int) bool { return all[i].Hold(bytes) }
	for range 5 {
		all = append(all, visit(d, "10.0.0.1"))
	}
	hold(0, 4<<10)
	hold(1, 60<<10)
	hold(2, 40<<10)
	expect(t, "they fit", all, 0, 1, 2, 3, 4)
	if !hold(3, 30<<10) {
		t.Error("one that is young is closed")
	}
	expect(t, "the oldest is closed", all, 0, 2, 3, 4)
	all[2].Begin()
	all[3].Begin()
	if hold(4, 90<<10) {
		t.Error("one is not closed for those that work")
	}
	if !hold(0, 4<<10) {
		t.Error("one is closed that holds nothing that counts")
	}
	all[2].Close()
	all[3].Close()
	if d.held != 0 || d.all.size != 1 || len(d.byAddr) != 1 {
		t.Errorf("%d bytes and %d connections of %d addresses count", d.held, d.all.size, len(d.byAddr))
	}
}

// TestTheDoorCountsWhatThereIs, whatever connections do in whichever order.
func TestTheDoorCountsWhatThereIs(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	d := New(Limits{Connections: 20, OfAddress: 8, Bytes: 200 << 10})
	var all []*Conn
	for range 20_000 {
		if len(all) == 0 || random.IntN(4) == 0 {
			all = append(all, visit(d, fmt.Sprintf("10.0.0.%d", random.IntN(5))))
		}
		c := all[random.IntN(len(all))]
		[]func(){
			func() { c.Begin() }, c.End, func() { c.Hold(random.IntN(64 << 10)) }, func() { c.Hold(0) },
			func() { c.Shown(random.IntN(2) == 0) }, func() { d.moved(c, true) }, func() { d.moved(c, false) },
			func() { c.Counts(netip.AddrFrom4([4]byte{10, 0, 0, byte(random.IntN(5))})) }, func() { c.Close() },
		}[random.IntN(9)]()
		all = slices.DeleteFunc(all, func(c *Conn) bool { return c.Conn.(*socket).closed })
		held, queued, working := int64(0), 0, 0
		for _, c := range all {
			held += c.held
			if c.stage == 2 {
				working++
			}
		}
		for s := range d.all.queues {
			queued += d.all.queues[s][0].Len() + d.all.queues[s][1].Len()
		}
		if d.held != held || d.all.size != len(all) || queued+working != len(all) || len(all) > 20 && queued > 0 {
			t.Fatalf("the door counts %d bytes and %d connections, %d of them in queues; there are %d and %d",
				d.held, d.all.size, queued, held, len(all))
		}
	}
	var text strings.Builder
	d.WriteMetrics(&text)
	if !strings.Contains(text.String(), fmt.Sprintf("signalbox_http_connections %d\n", len(all))) {
		t.Error(text.String())
	}
}
