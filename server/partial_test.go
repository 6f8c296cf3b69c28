package server_test

import (
	"encoding/binary"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server"
	"github.com/signalbox/signalbox/server/servertest"
)

// sendPart sends the header of a frame and some of its payload.
func (s *speaker) sendPart(announced, sent int) {
	s.t.Helper()
	frame := binary.BigEndian.AppendUint32(nil, uint32(announced))
	if _, err := s.conn.Write(append(frame, make([]byte, sent)...)); err != nil {
		s.t.Fatal(err)
	}
}

func TestAFrameBeforeTheHelloIsShort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := servertest.Start(t)
		began := time.Now()
		long := stranger(t, c)
		long.sendPart(protocol.HelloFrameBytes+1, 0)
		want(t, "of a longer one", long.closed(time.Minute), protocol.StatusBadRequest)
		want(t, "waited", time.Since(began), 0)
		// The longest HELLO that there is fits.
		s := stranger(t, c)
		s.must(s.ask(&protocol.Hello{
			VersionMin: 1, VersionMax: 1, ClientName: make([]byte, protocol.MaxClientNameBytes),
			ClientVersion: make([]byte, protocol.MaxVersionBytes), Token: make([]byte, protocol.MaxTokenBytes),
		}))
		// After it the limit is that of the WELCOME.
		s.sendPart(protocol.HelloFrameBytes+1, 10)
		synctest.Wait()
		want(t, "bytes held", metric(t, c, "signalbox_input_buffer_bytes"), protocol.FrameHeaderBytes+10)
		_ = s.conn.Close()
		synctest.Wait()
		want(t, "bytes held of a connection that is gone", metric(t, c, "signalbox_input_buffer_bytes"), 0)
	})
}

func TestFramesInPartShareABudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const limit, clients, size = 1 << 20, 100, 60 << 10
		c := servertest.Start(t, servertest.Config(func(c *server.Config) { c.PartialBytes = limit }))
		small := speak(t, c, 1)
		small.sendPart(100_000, 1000)
		var large []*speaker
		for i := range clients {
			s := speak(t, c, 1)
			if i == 0 {
				s.sendPart(100_000, size+1) // the first one to go
			} else {
				s.sendPart(100_000, size)
			}
			large = append(large, s)
			synctest.Wait()
			if held := metric(t, c, "signalbox_input_buffer_bytes"); held > limit {
				t.Fatalf("%d bytes are held, and %d may be", held, limit)
			}
		}
		cut := metric(t, c, `signalbox_connections_closed_total{reason="input_buffer_full"}`)
		if least := clients - limit/size; cut < least {
			t.Errorf("%d connections were closed, and %d must be", cut, least)
		}
		want(t, "the last word", large[0].closed(time.Second), protocol.StatusOverloaded)
		// Who holds little is left alone, and his frame is read when the rest comes.
		if _, err := small.conn.Write(make([]byte, 99_000)); err != nil {
			t.Fatal(err)
		}
		want(t, "a frame of zeros", small.closed(time.Second), protocol.StatusBadRequest)
	})
}
