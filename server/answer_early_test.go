package server

import (
	"testing"

	"github.com/valyala/bytebufferpool"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/connection"
)

// earlySink is a sink on an event loop.
type earlySink struct {
	*sink
	early []int64 // number of frames sent at each early flush
}

func (s *earlySink) FlushEarly() { s.early = append(s.early, s.frames.Load()) }

// TestFirstAnswersLeaveEarlyWhereNoOtherConnectionAsks: an extra write would delay other connections' requests.
func TestFirstAnswersLeaveEarlyWhereNoOtherConnectionAsks(t *testing.T) {
	h, other, otherSink := benchHost(t)
	s := &earlySink{sink: newSink()}
	c := h.Opened(s).(*connection.Conn)
	send(c, s.sink, &protocol.Hello{VersionMin: 1, VersionMax: 1})
	send(c, s.sink, &protocol.SemaphoreCreate{NodeID: 1, Name: []byte("read"), Limit: 1})

	many := bytebufferpool.Get()
	defer bytebufferpool.Put(many)
	const reads = 200
	for i := range uint64(reads) {
		protocol.NewEncoder().Request(many, 10+i, &protocol.SemaphoreDescribe{NodeID: 1, Name: []byte("read"),
			Consistency: protocol.ConsistencyRelaxed})
	}
	for _, round := range []struct {
		what          string
		others        int
		size          int
		earlyExpected int
	}{
		{"alone, many reads", 0, len(many.B), 1},
		{"again", 0, len(many.B), 1},
		{"one read", 0, len(many.B) / reads, 0},
		{"after another connection", 1, len(many.B), 0},
		{"alone once more", 0, len(many.B), 1},
		{"after another connection that asked often", 3, len(many.B), 0},
	} {
		for range round.others {
			send(other, otherSink, &protocol.Ping{})
		}
		s.early = nil
		before := s.frames.Load()
		s.exchange(c, many.B[:round.size], int64(round.size*reads/len(many.B)))
		if len(s.early) != round.earlyExpected {
			t.Errorf("%s: %d early writes, want %d", round.what, len(s.early), round.earlyExpected)
		}
		for _, frames := range s.early {
			if sent := frames - before; sent < 1 || sent > reads/2 {
				t.Errorf("%s: %d of %d answers left early", round.what, sent, reads)
			}
		}
	}
}
