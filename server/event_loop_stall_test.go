package server_test

import (
	"net"
	"testing"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server"
	"github.com/signalbox/signalbox/server/caller"
	"github.com/signalbox/signalbox/server/servertest"
	"github.com/signalbox/signalbox/server/transport"
)

// admission lets everybody in, those with the token "slow" only when the door is opened: until then their event
// loop stands still.
type admission struct {
	revocable
	stopped chan struct{} // closed when the loop stands still
	door    chan struct{}
}

func (a *admission) Authenticate(token []byte) (caller.Rights, string, bool) {
	if string(token) == "slow" {
		close(a.stopped)
		<-a.door
	}
	return a, "", true
}

func TestSessionsLiveThroughAStandstillOfTheirEventLoop(t *testing.T) {
	keeper := &admission{stopped: make(chan struct{}), door: make(chan struct{})}
	c := servertest.Start(t, servertest.Config(func(c *server.Config) { c.Access = keeper }))
	listener, err := transport.ListenGnet("127.0.0.1:0", c.Host(1), transport.NetOptions{Loops: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	dial := func() *speaker {
		conn, err := net.Dial("tcp", listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		return speakOver(t, conn)
	}
	s := dial()
	s.must(s.ask(&protocol.Hello{VersionMin: 1, VersionMax: 1}))
	node := s.node("/jobs")
	const timeout = 4 * time.Second
	a := s.session("/jobs", timeout)
	_, held := a.acquire("lock", protocol.Exclusive, 0, true)
	elsewhere := speak(t, c, 1) // on no event loop
	elsewhere.session("/jobs", timeout)

	s.ask(&protocol.Ping{})
	dial().say(&protocol.Hello{VersionMin: 1, VersionMax: 1, Token: []byte("slow")})
	<-keeper.stopped
	// An unaffected session expires meanwhile.
	elsewhere.await(0, protocol.KindSessionEnded)
	last := uint64(0)
	for stopped := time.Now(); time.Since(stopped) < timeout*3/2; time.Sleep(100 * time.Millisecond) {
		last = s.say(&protocol.Ping{})
	}
	close(keeper.door)
	s.await(last, protocol.KindPing.Answer())
	if s.has(0, protocol.KindSessionDetached) || s.has(0, protocol.KindSessionEnded) {
		t.Fatal("a session that kept pinging has ended")
	}
	_, again := a.acquire("lock", protocol.Exclusive, 0, true)
	want(t, "order id", again.OrderID, held.OrderID)
	want(t, "node", a.node, node)
	// And it expires when its client falls silent.
	s.await(0, protocol.KindSessionEnded)
}
