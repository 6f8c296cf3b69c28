package server_test

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/servertest"
)

// vectorFrame is a vector's frame, as sent by clients of any version.
func vectorFrame(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "protocol", "testdata", "vectors", "messages", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	var v struct{ Frame string }
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	return unhex(t, v.Frame)
}

func unhex(t *testing.T, digits string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(digits, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// sayRaw sends a raw payload.
func (s *speaker) sayRaw(payload []byte) {
	s.t.Helper()
	if _, err := s.conn.Write(append([]byte{0, 0, 0, byte(len(payload))}, payload...)); err != nil {
		s.t.Fatal(err)
	}
}

// later is a push in the second block of kinds.
type later struct{ *protocol.RoutingChanged }

func (later) Kind() protocol.Kind { return 270 }

// TestAClientThatAnnouncesNothingGetsOnlyTheFirstBlock: a client from before the second block sends a HELLO without
// announcements. The client gets a readable WELCOME, and no push in the second block.
func TestAClientThatAnnouncesNothingGetsOnlyTheFirstBlock(t *testing.T) {
	c := servertest.Start(t)
	s := unauthenticated(t, c)
	if _, err := s.conn.Write(vectorFrame(t, "hello")); err != nil {
		t.Fatal(err)
	}
	welcome, err := s.read(patience)
	if err != nil {
		t.Fatal(err)
	}
	want(t, "the WELCOME begins with", fmt.Sprintf("%x", welcome[1:5]), "41010090")
	s.must(s.decode(welcome))
	c.Host(1).Broadcast(later{&protocol.RoutingChanged{Version: 77}})
	s.next = 1
	s.sayRaw(vectorFrame(t, "ping")[protocol.FrameHeaderBytes:])
	payload, err := s.read(patience)
	if err != nil {
		t.Fatal(err)
	}
	want(t, "the next message", fmt.Sprintf("%x", payload), "924202")
}

func TestAClientGetsThePushesThatItAnnounced(t *testing.T) {
	c := servertest.Start(t)
	s := unauthenticated(t, c)
	if _, err := s.conn.Write(vectorFrame(t, "hello-announcing")); err != nil { // 256 and 272
		t.Fatal(err)
	}
	s.must(s.await(1, protocol.KindHello.Answer()))
	hello := &protocol.Hello{VersionMin: 1, VersionMax: 1}
	hello.PushKinds.Append(protocol.KindNumber(later{}.Kind()))
	other := unauthenticated(t, c)
	other.must(other.ask(hello))
	c.Host(1).Broadcast(later{&protocol.RoutingChanged{Version: 77}})
	payload, err := other.read(patience)
	if err != nil {
		t.Fatal(err)
	}
	want(t, "the push", fmt.Sprintf("%x", payload), "93cd010e004d")
	s.next = 1
	s.must(s.ask(&protocol.Ping{}))
	want(t, "messages before the PONG", len(s.kept), 0)
}

// TestUnknownKindsAtAHost: the vectors with unknown kinds, at a host.
func TestUnknownKindsAtAHost(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "protocol", "testdata", "vectors", "unknown.json"))
	if err != nil {
		t.Fatal(err)
	}
	var vectors []struct{ To, Payload, Then, Answer string }
	if err := json.Unmarshal(text, &vectors); err != nil {
		t.Fatal(err)
	}
	c := servertest.Start(t)
	for _, v := range vectors {
		if v.To != "host" {
			continue
		}
		t.Run(v.Payload, func(t *testing.T) {
			s := speak(t, c, 1)
			s.sayRaw(unhex(t, v.Payload))
			if v.Then == "close" {
				want(t, "the last word", s.closed(patience), protocol.StatusBadRequest)
				return
			}
			payload, err := s.read(patience)
			if err != nil {
				t.Fatal(err)
			}
			if begin := unhex(t, v.Answer); !bytes.HasPrefix(payload[1:], begin) {
				t.Errorf("the answer is %x, want it to begin with %x", payload[1:], begin)
			}
			want(t, "the answer as a client reads it", s.decode(payload).Result.Status, protocol.StatusUnsupported)
			s.must(s.ask(&protocol.Ping{}))
		})
	}
}

// TestEveryRequestThatIsKnownIsDispatched: whatever has a row in the protocol's table is announced, and so must be
// carried out, but for what goes between hosts only.
func TestEveryRequestThatIsKnownIsDispatched(t *testing.T) {
	c := servertest.Start(t)
	s := speak(t, c, 1)
	for k := protocol.Kind(1); k <= protocol.MaxRequestKind; k++ {
		if m := (&protocol.Request{Kind: k}).Message(); m != nil {
			if a := s.ask(m); (a.Result.Status == protocol.StatusUnsupported) != k.BetweenHosts() {
				t.Errorf("%v: %v", k, a.Result.Err())
			}
		}
	}
}
