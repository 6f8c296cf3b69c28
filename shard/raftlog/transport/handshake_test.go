package transport

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/lni/dragonboat/v4/raftpb"
)

var testSecret = []byte("a secret that is long enough")

func withSecret(secret []byte) func(*Config) { return func(c *Config) { c.Secret = secret } }

func TestAHostWithoutTheSecretIsRefused(t *testing.T) {
	for name, test := range map[string]struct {
		of     func(*Config)
		reason string
	}{
		"no secret":          {withSecret(nil), "has none"},
		"another secret":     {withSecret([]byte("another one of many bytes")), "did not take the proof"},
		"another deployment": {func(c *Config) { c.Deployment = 7 }, "of deployment"},
		"our own id":         {func(c *Config) { c.Host = 1 }, "which this host is"},
		"no member's id":     {func(c *Config) { c.Host = 9 }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEndpoint(t, withSecret(testSecret))
			dialer := newDialer(e.config, test.of)
			conn, err := dialer.GetConnection(context.Background(), e.address)
			if err == nil {
				conn.Close()
				t.Fatal("connected")
			}
			if !strings.Contains(err.Error(), test.reason) {
				t.Errorf("the host that dialled is told %q, want %q", err, test.reason)
			}
			eventually(t, "the refusal", func() bool { return e.refused[RefusedHandshake].Load() == 1 })
		})
	}
}

// TestNothingIsSentToWhoDoesNotHaveTheSecret: a program without the secret listens at the address of a host.
func TestNothingIsSentToWhoDoesNotHaveTheSecret(t *testing.T) {
	impostor := newEndpoint(t, withSecret([]byte("a secret that was guessed")))
	dialer := newDialer(impostor.config, withSecret(testSecret))
	if _, err := dialer.GetConnection(context.Background(), impostor.address); !errors.Is(err, errRefused) {
		t.Errorf("have %v, want a refusal", err)
	}
}

func TestAHostOfTheVersionWithoutHandshakesIsNamed(t *testing.T) {
	e := newEndpoint(t)
	conn, err := net.Dial("tcp", e.address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	old := &sender{conn: conn} // sends its frame at once, as that version did
	if err := old.SendMessageBatch(goodBatch("x")); err != nil {
		t.Fatal(err)
	}
	awaitEnd(t, conn)
	e.Close()
	if !strings.Contains(e.log.String(), "stop all hosts") || len(e.batches) != 0 {
		t.Errorf("%d batches came through; the log says %s", len(e.batches), e.log)
	}
}

// tappedConn keeps what is written.
type tappedConn struct {
	net.Conn
	written bytes.Buffer
}

func (c *tappedConn) Write(p []byte) (int, error) {
	c.written.Write(p)
	return c.Conn.Write(p)
}

func TestFramesAreNeitherChangedNorRepeatedOnTheWay(t *testing.T) {
	for name, tamper := range map[string]func(first, second []byte) []byte{
		"repeated": func(first, _ []byte) []byte { return first },
		"changed": func(_, second []byte) []byte {
			mac := second[len(second)-macSize:]
			changed := bytes.Replace(second[:len(second)-macSize], []byte("second"), []byte("forged"), 1)
			sealFrame(changed, frameMessages) // a changed frame can have the right checksum
			return append(changed, mac...)
		},
		"without a MAC": func(_, second []byte) []byte {
			return append(second[:len(second)-macSize], make([]byte, macSize)...)
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEndpoint(t, withSecret(testSecret))
			conn, err := e.GetConnection(context.Background(), e.address)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			s := conn.(*sender)
			real := s.conn
			frame := func(data string, to io.Writer) []byte {
				tap := &tappedConn{Conn: discardConn{real, to}}
				s.conn = tap
				if err := s.SendMessageBatch(goodBatch(data)); err != nil {
					t.Fatal(err)
				}
				return bytes.Clone(tap.written.Bytes())
			}
			first := frame("first!", real)
			if got := <-e.batches; string(got.Requests[0].Entries[0].Cmd) != "first!" {
				t.Fatal("the first frame arrived changed")
			}
			second := frame("second", io.Discard)
			if _, err := real.Write(tamper(first, second)); err != nil {
				t.Fatal(err)
			}
			awaitEnd(t, real)
			if len(e.batches) != 0 || e.refused[RefusedFrame].Load() != 1 {
				t.Errorf("%d batches came through, %d were refused", len(e.batches), e.refused[RefusedFrame].Load())
			}
		})
	}
}

// discardConn is a connection whose writes go elsewhere.
type discardConn struct {
	net.Conn
	to io.Writer
}

func (c discardConn) Write(p []byte) (int, error) { return c.to.Write(p) }

func BenchmarkSendingWithAndWithoutAMAC(b *testing.B) {
	for _, size := range []int{6 << 10, 1 << 20} {
		for _, secret := range [][]byte{nil, testSecret} {
			b.Run(fmt.Sprintf("bytes=%d/mac=%v", size, secret != nil), func(b *testing.B) {
				ours, theirs := newHello(&Config{}), newHello(&Config{})
				keys, err := drawKeys(secret, ours, theirs)
				if err != nil {
					b.Fatal(err)
				}
				mac, err := keys.mac(&Config{Secret: secret})
				if err != nil {
					b.Fatal(err)
				}
				near, far := net.Pipe()
				defer near.Close()
				defer far.Close()
				s := &sender{conn: discardConn{near, io.Discard}, mac: mac}
				batch := raftpb.MessageBatch{Requests: []raftpb.Message{{Entries: []raftpb.Entry{{Cmd: make([]byte,
					size)}}}}}
				b.SetBytes(int64(size))
				b.ReportAllocs()
				for b.Loop() {
					if err := s.SendMessageBatch(batch); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
