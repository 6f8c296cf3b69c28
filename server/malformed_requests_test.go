package server_test

import (
	"context"
	"encoding/binary"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/servertest"
)

// closed waits until the host has closed the connection, and returns the status of its last message.
func (s *speaker) closed(limit time.Duration) (last protocol.Status) {
	s.t.Helper()
	deadline := time.Now().Add(limit)
	for {
		payload, err := s.read(time.Until(deadline))
		if err != nil {
			if !time.Now().Before(deadline) {
				s.t.Fatalf("the connection is still open after %v", limit)
			}
			return last
		}
		if a := s.decode(payload); a.Kind == protocol.KindGoingAway {
			last = a.GoingAway.Result.Status
		}
	}
}

func unauthenticated(t *testing.T, c *servertest.Cluster) *speaker {
	t.Helper()
	conn, err := c.Dial(context.Background(), servertest.Address(1))
	if err != nil {
		t.Fatal(err)
	}
	return speakOver(t, conn)
}

func TestGarbageClosesTheConnectionWithAReason(t *testing.T) {
	c := servertest.Start(t)
	for _, x := range []struct {
		name string
		data []byte
	}{
		{"a frame of no bytes", []byte{0, 0, 0, 0}},
		{"a frame of two gigabytes", []byte{0x7f, 0xff, 0xff, 0xff}},
		{"no msgpack", append([]byte{0, 0, 0, 4}, "\xc1\xc1\xc1\xc1"...)},
		{"http", []byte("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")},
		{"a ping before the hello", []byte{0, 0, 0, 3, 0x92, 2, 1}},
	} {
		s := unauthenticated(t, c)
		if _, err := s.conn.Write(x.data); err != nil {
			t.Fatal(err)
		}
		if status := s.closed(patience); status != protocol.StatusBadRequest {
			t.Errorf("%s: the last word was %v", x.name, status)
		}
	}
	// No other connection is affected.
	speak(t, c, 1).must(speak(t, c, 1).ask(&protocol.Ping{}))
}

func TestRandomBytesNeverHarmTheHost(t *testing.T) {
	c := servertest.Start(t)
	rng := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		s := speak(t, c, 1)
		s.node("/jobs")
		payload := make([]byte, 1+rng.IntN(200))
		for i := range payload {
			payload[i] = byte(rng.Uint32())
		}
		payload[0] = 0x90 | byte(rng.IntN(16)) // an array, to get further
		frame := binary.BigEndian.AppendUint32(nil, uint32(len(payload)))
		if _, err := s.conn.Write(append(frame, payload...)); err != nil {
			t.Fatal(err)
		}
		_ = s.conn.Close()
	}
	s := speak(t, c, 1)
	s.must(s.ask(&protocol.Ping{}))
}

func TestAnUnknownRequestIsAnsweredAndTheConnectionStays(t *testing.T) {
	c := servertest.Start(t)
	s := speak(t, c, 1)
	frame := []byte{0, 0, 0, 3, 0x92, 47, 9} // kind 47, id 9
	if _, err := s.conn.Write(frame); err != nil {
		t.Fatal(err)
	}
	payload, err := s.read(patience)
	if err != nil {
		t.Fatal(err)
	}
	a := s.decode(payload)
	want(t, "kind", a.Kind, 47+64)
	want(t, "status", a.Result.Status, protocol.StatusUnsupported)
	s.must(s.ask(&protocol.Ping{}))
}

func TestTheSilentAreSentAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := servertest.Start(t)
		mute, half, greeted := unauthenticated(t, c), unauthenticated(t, c), speak(t, c, 1)
		if _, err := half.conn.Write([]byte{0, 0}); err != nil {
			t.Fatal(err)
		}
		want(t, "without a hello", mute.closed(20*time.Second), protocol.StatusHeartbeatTimeout)
		want(t, "with half a frame", half.closed(20*time.Second), protocol.StatusHeartbeatTimeout)
		want(t, "after the hello", greeted.closed(time.Minute), protocol.StatusHeartbeatTimeout)
	})
}

func TestTooManyRequestsAreRefusedAndNothingIsLost(t *testing.T) {
	c := servertest.Start(t)
	s := speak(t, c, 1)
	s.node("/jobs")
	a := s.session("/jobs", time.Minute)
	const requests = 30_000
	go func() {
		for range requests {
			s.say(&protocol.Acquire{Mutation: a.mutation(), NodeID: a.node, Name: []byte("sem"), Count: 1,
				Ephemeral: true})
		}
	}()
	answers := map[protocol.Status]int{}
	for range requests {
		payload, err := s.read(patience)
		if err != nil {
			t.Fatalf("after %v: %v", answers, err)
		}
		d, err := protocol.NewAnswerDecoder().Decode(payload)
		if err != nil {
			t.Fatal(err)
		}
		answers[d.Result.Status]++
	}
	if answers[protocol.StatusSuccess] == 0 ||
		answers[protocol.StatusSuccess]+answers[protocol.StatusOverloaded] != requests {
		t.Fatal(answers)
	}
}
