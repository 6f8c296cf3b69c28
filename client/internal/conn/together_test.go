package conn

import (
	"testing"

	"github.com/valyala/bytebufferpool"

	"github.com/signalbox/signalbox/protocol"
)

// TestCallersThatWereAnsweredTogetherLeaveTheWritingToTheWriter: their next requests go out in one write. A caller with
// a separate answer writes itself.
func TestCallersThatWereAnsweredTogetherLeaveTheWritingToTheWriter(t *testing.T) {
	const callers = 3
	from := &source{}
	c := &Conn{
		from: newFrames(from), decoder: protocol.NewAnswerDecoder(), encoder: protocol.NewEncoder(),
		out: new(bytebufferpool.ByteBuffer), wake: make(chan struct{}, 1), buffers: true, token: newReadToken(),
		handlers: make(map[uint64]Handler), dialer: &Dialer{},
	}
	c.welcome.limits = protocol.FrameLimits(protocol.DefaultDataBytes)
	c.welcome.limits.RequestsInFlight = openMax
	caller := &call{done: make(chan struct{}, callers)}
	send := func() (id uint64, writes bool) {
		t.Helper()
		c.out.Reset() // the earlier requests are on their way
		id, work, err := c.SendAwaited("", caller, &protocol.Ping{})
		if err != nil {
			t.Fatal(err)
		}
		return id, work.write
	}
	// answer delivers the answers to several requests in one read.
	answer := func(ids ...uint64) {
		t.Helper()
		var sent bytebufferpool.ByteBuffer
		for _, id := range ids {
			protocol.NewEncoder().Answer(&sent, id, &protocol.Pong{})
		}
		from.push = sent.B
		for range ids {
			if err := c.readNext(); err != nil {
				t.Fatal(err)
			}
			<-caller.done
		}
	}
	var ids []uint64
	for i := range callers {
		id, writes := send()
		if ids = append(ids, id); writes != (i == 0) {
			t.Errorf("request %d is written by its caller: %v", i, writes)
		}
	}
	answer(ids...)
	id, writes := send()
	if writes {
		t.Error("the first of those that were answered together writes by itself")
	}
	answer(id)
	if _, writes := send(); !writes {
		t.Error("a caller that was answered by itself leaves the writing to the writer")
	}
}
