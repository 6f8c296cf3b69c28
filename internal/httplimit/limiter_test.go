package httplimit

import (
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"
)

// socket is a connection that records its close.
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

// connect admits a connection from an address.
func connect(l *Limiter, address string) *Conn {
	return l.admit(&socket{from: &net.TCPAddr{IP: net.ParseIP(address), Port: 1}})
}

// open returns the list positions of connections that are still open.
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

// idle has a connection end a request with a token.
func idle(c *Conn, address, token string) {
	c.Identify(netip.MustParseAddr(address), token)
	if c.Begin() {
		c.End()
		c.answered()
	}
}

// TestIdleConnectionsOfTheLargestPartyAreClosed, with a token or without, and the newcomer stays.
func TestIdleConnectionsOfTheLargestPartyAreClosed(t *testing.T) {
	l := New(Limits{Connections: 4})
	var all []*Conn
	come := func(address string) { all = append(all, connect(l, address)) }
	for range 4 {
		come("10.0.0.1")
		idle(all[len(all)-1], "10.0.0.1", "least")
	}
	come("10.0.0.2")
	expect(t, "a newcomer", all, 1, 2, 3, 4)
	idle(all[4], "10.0.0.2", "root")
	come("10.0.0.1")
	expect(t, "a newcomer from the address that has all", all, 2, 3, 4, 5)
	all[2].Begin()
	come("10.0.0.3")
	expect(t, "one works", all, 2, 4, 5, 6)
	if all[3].Begin() {
		t.Error("a connection that was closed begins")
	}
	come("10.0.0.3")
	expect(t, "strangers have more than their half", all, 2, 4, 5, 7)
}

// TestAFirstRequestOutlastsFurtherOnes: a connection with request after request is no younger than a connection whose
// first request waits.
func TestAFirstRequestOutlastsFurtherOnes(t *testing.T) {
	l := New(Limits{Connections: 3})
	var all []*Conn
	for range 3 {
		all = append(all, connect(l, "10.0.0.1"))
	}
	for _, c := range all[1:] {
		idle(c, "10.0.0.1", "")
		c.place.Set(c.state()) // the next request has arrived
	}
	all = append(all, connect(l, "10.0.0.1"))
	expect(t, "one more", all, 0, 2, 3)
	all = append(all, connect(l, "10.0.0.1"))
	expect(t, "two more", all, 0, 3, 4)
	all = append(all, connect(l, "10.0.0.1"))
	expect(t, "three more", all, 3, 4, 5)
}

// TestAConnectionOfAProxyCountsForItsClient, from the client's request to the next client's.
func TestAConnectionOfAProxyCountsForItsClient(t *testing.T) {
	l := New(Limits{Connections: 6})
	var all []*Conn
	for range 6 {
		all = append(all, connect(l, "10.0.0.1"))
	}
	for i, c := range all {
		client := "192.0.2.1"
		if i < 2 {
			client = "192.0.2.2"
		}
		c.From(netip.MustParseAddr(client))
		idle(c, client, "")
	}
	all = append(all, connect(l, "10.0.0.1"))
	expect(t, "the client with the most", all, 0, 1, 3, 4, 5, 6)
	all[0].From(netip.MustParseAddr("192.0.2.3"))
	all = append(all, connect(l, "10.0.0.9"))
	expect(t, "another client's request", all, 0, 1, 4, 5, 6, 7)
}

// TestWhatIsLongestUnderWayIsClosedForBytes, except small or working connections.
func TestWhatIsLongestUnderWayIsClosedForBytes(t *testing.T) {
	l := New(Limits{Connections: 100, Bytes: 100 << 10})
	var all []*Conn
	hold := func(i, bytes int) bool { return all[i].Hold(bytes) }
	for range 5 {
		all = append(all, connect(l, "10.0.0.1"))
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
	if n, held := l.connections.Counts().Held, l.bytes.Counts().Held; n != 1 || held != 0 {
		t.Errorf("%d bytes and %d connections count", held, n)
	}
}

// TestTheLimiterCountsWhatThereIs, whatever connections do in whichever order.
func TestTheLimiterCountsWhatThereIs(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	l := New(Limits{Connections: 20, Bytes: 200 << 10})
	var all []*Conn
	address := func() string { return fmt.Sprintf("10.0.0.%d", random.IntN(5)) }
	for range 20_000 {
		if len(all) == 0 || random.IntN(4) == 0 {
			if c := connect(l, address()); c != nil {
				all = append(all, c)
			}
		}
		c := all[random.IntN(len(all))]
		[]func(){
			func() { c.Begin() }, c.End, func() { c.Hold(random.IntN(64 << 10)) }, func() { c.Hold(0) },
			func() { idle(c, address(), []string{"", "token"}[random.IntN(2)]) },
			func() { c.From(netip.MustParseAddr(address())) }, func() { c.Close() },
		}[random.IntN(7)]()
		all = slices.DeleteFunc(all, func(c *Conn) bool { return c.Conn.(*socket).closed })
		working := int64(0)
		for _, c := range all {
			if c.working {
				working++
			}
		}
		n, held := l.connections.Counts().Held, l.bytes.Counts().Held
		if n != int64(len(all)) || n > 30+working || held > 200<<10+working*64<<10 {
			t.Fatalf("the limiter counts %d connections, there are %d; %d bytes are held", n, len(all), held)
		}
	}
	var text strings.Builder
	l.WriteMetrics(&text)
	if !strings.Contains(text.String(), fmt.Sprintf("signalbox_http_connections %d\n", len(all))) {
		t.Error(text.String())
	}
	for _, c := range all {
		c.Close()
	}
	if held := l.bytes.Counts().Held; held != 0 {
		t.Errorf("%d bytes are held by nobody", held)
	}
}
