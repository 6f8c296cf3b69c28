package connection

import (
	"errors"
	"testing"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/handle"
)

func TestFirstRequestMustBeHello(t *testing.T) {
	b := newBed(t, nil)
	b.send(&protocol.NodeDescribe{})
	got := b.peer.take()
	if len(got) != 2 || got[0].Result.Status != protocol.StatusBadRequest || got[1].Kind != protocol.KindGoingAway {
		t.Errorf("the host sends %+v", got)
	}
	if !b.peer.closed || b.left != 1 || b.set.Len() != 0 {
		t.Errorf("closed %t, %d reported, %d connections", b.peer.closed, b.left, b.set.Len())
	}
}

func TestUnknownTokenIsRejected(t *testing.T) {
	b := newBed(t, nil)
	b.send(&protocol.Hello{VersionMin: protocol.MinVersion, VersionMax: protocol.MaxVersion, Token: []byte("bad")})
	got := b.peer.take()
	if len(got) == 0 || got[0].Result.Status != protocol.StatusUnauthorized || !b.peer.closed {
		t.Errorf("the host sends %+v, closed %t", got, b.peer.closed)
	}
}

// TestRoutingThatChangesDuringHelloIsPushed: the Welcome has the old version, so a push follows.
func TestRoutingThatChangesDuringHelloIsPushed(t *testing.T) {
	for _, changed := range []bool{false, true} {
		b := newBed(t, nil)
		if changed {
			b.routing++
		}
		b.send(&protocol.Hello{VersionMin: protocol.MinVersion, VersionMax: protocol.MaxVersion, Token: []byte("good")})
		got := b.peer.take()
		pushed := len(got) == 2 && got[1].Kind == protocol.KindRoutingChanged
		if len(got) == 0 || got[0].Kind != protocol.KindHello.Answer() || pushed != changed {
			t.Errorf("changed %t: the host sends %+v", changed, got)
		}
	}
}

// TestResultOfAHandlerIsTheAnswer: a reply, a refusal, and an error without a status.
func TestResultOfAHandlerIsTheAnswer(t *testing.T) {
	for name, c := range map[string]struct {
		reply handle.Reply
		err   error
		want  protocol.Status
	}{
		"a message":      {reply: &protocol.NodeDescribeAnswer{}, want: protocol.StatusSuccess},
		"a refusal":      {err: handle.BadRequest("no"), want: protocol.StatusBadRequest},
		"another error":  {err: errors.New("broken"), want: protocol.StatusUnavailable},
		"a later answer": {reply: handle.Later(answerLater), want: protocol.StatusSuccess},
		"a later refusal": {
			reply: handle.Later(func(t handle.Ticket) { t.Fail(handle.BadRequest("no")) }),
			want:  protocol.StatusBadRequest,
		},
	} {
		b := newBed(t, handle.Table{protocol.KindNodeDescribe: func(*handle.Request) (handle.Reply, error) {
			return c.reply, c.err
		}})
		b.enter()
		b.send(&protocol.NodeDescribe{})
		got := b.peer.take()
		if len(got) != 1 || got[0].ID != b.next || got[0].Result.Status != c.want {
			t.Errorf("%s: the host sends %+v, want status %v", name, got, c.want)
		}
		if n := b.conn.inFlight.Load(); n != 0 {
			t.Errorf("%s: %d requests are without an answer", name, n)
		}
	}
}

func answerLater(t handle.Ticket) { t.Done(&protocol.NodeDescribeAnswer{}, nil) }

func TestRequestWithoutAHandlerIsUnsupported(t *testing.T) {
	b := newBed(t, nil)
	b.enter()
	b.send(&protocol.NodeDescribe{})
	if got := b.peer.take(); len(got) != 1 || got[0].Result.Status != protocol.StatusUnsupported {
		t.Errorf("the host sends %+v", got)
	}
}

// TestUnansweredRequestsAreLimited: the bed's limit is two. An answer makes room for another request.
func TestUnansweredRequestsAreLimited(t *testing.T) {
	var waiting []handle.Ticket
	b := newBed(t, handle.Table{protocol.KindNodeDescribe: func(*handle.Request) (handle.Reply, error) {
		return handle.Later(func(t handle.Ticket) { waiting = append(waiting, t) }), nil
	}})
	b.enter()
	for range 3 {
		b.send(&protocol.NodeDescribe{})
	}
	if got := b.peer.take(); len(waiting) != 2 || len(got) != 1 || got[0].Result.Status != protocol.StatusOverloaded {
		t.Fatalf("%d requests are handled; the host sends %+v", len(waiting), got)
	}
	answerLater(waiting[0])
	b.send(&protocol.NodeDescribe{})
	if got := b.peer.take(); len(waiting) != 3 || len(got) != 1 || got[0].Result.Status != protocol.StatusSuccess {
		t.Errorf("%d requests are handled; the host sends %+v", len(waiting), got)
	}
}

// TestAChangeOfRightsIsAnsweredBeforeItEndsTheConnection: a first token's secret is shown only in the answer.
func TestAChangeOfRightsIsAnsweredBeforeItEndsTheConnection(t *testing.T) {
	var change handle.Ticket
	b := newBed(t, handle.Table{protocol.KindAccessChange: func(*handle.Request) (handle.Reply, error) {
		return handle.Later(func(t handle.Ticket) { change = t }), nil
	}})
	b.enter()
	b.send(&protocol.AccessChange{Action: protocol.AccessSetRole, Role: []byte("r")})
	b.revoked = true
	b.conn.review(b.now)
	if b.peer.closed {
		t.Fatalf("the connection is closed before the answer: %+v", b.peer.take())
	}
	change.Done(&protocol.AccessChangeAnswer{}, nil)
	b.conn.review(b.now)
	got := b.peer.take()
	if !b.peer.closed || len(got) != 2 || got[0].Kind != protocol.KindAccessChange.Answer() ||
		got[1].Result.Status != protocol.StatusUnauthorized {
		t.Errorf("closed %t, after %+v", b.peer.closed, got)
	}
}

func TestClientThatDoesNotReadIsRefused(t *testing.T) {
	b := newBed(t, handle.Table{protocol.KindNodeDescribe: func(*handle.Request) (handle.Reply, error) {
		return &protocol.NodeDescribeAnswer{}, nil
	}})
	b.enter()
	b.peer.pending = slowPending + 1
	b.send(&protocol.NodeDescribe{})
	if got := b.peer.take(); len(got) == 0 || got[0].Result.Status != protocol.StatusOverloaded {
		t.Errorf("the host sends %+v", got)
	}
}

// TestPartOfAFrameWaitsForTheRest: only whole frames are consumed.
func TestPartOfAFrameWaitsForTheRest(t *testing.T) {
	b := newBed(t, nil)
	b.enter()
	frame := b.frame(&protocol.NodeDescribe{Path: []byte("/a")})
	if n := b.conn.Data(frame[:len(frame)-1]); n != 0 || b.set.partial.held.Load() == 0 {
		t.Errorf("%d bytes of a part are consumed, %d are counted", n, b.set.partial.held.Load())
	}
	if n := b.conn.Data(frame); n != len(frame) || b.set.partial.held.Load() != 0 {
		t.Errorf("%d of %d bytes are consumed, %d are counted", n, len(frame), b.set.partial.held.Load())
	}
	if got := b.peer.take(); len(got) != 1 {
		t.Errorf("the host sends %+v", got)
	}
}

func TestSilentConnectionsAreClosed(t *testing.T) {
	for name, c := range map[string]struct {
		enter  bool
		silent time.Duration
		closed bool
	}{
		"silent for two intervals":     {true, 2 * time.Second, false},
		"silent for four intervals":    {true, 4 * time.Second, true},
		"without HELLO for four":       {false, 4 * time.Second, true},
		"without HELLO for a while":    {false, 2 * time.Second, false},
		"without HELLO, but with time": {false, time.Second, false},
	} {
		b := newBed(t, nil)
		if c.enter {
			b.enter()
		}
		b.now = b.now.Add(c.silent)
		busy := b.set.Maintain(b.now)
		if b.peer.closed != c.closed || busy == c.closed {
			t.Errorf("%s: closed %t, busy %t", name, b.peer.closed, busy)
		}
	}
}
