package transport

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/lni/dragonboat/v4/raftpb"
	"github.com/signalbox/signalbox/shard/hosts"
)

var testSecret = []byte("a secret that is long enough")

func withSecret(secret []byte) func(*Config) { return func(c *Config) { c.Secret = secret } }

// TestHostsThatAreNoPeersAreRefused: the dialing host gets the reason, and neither engine gets anything.
func TestHostsThatAreNoPeersAreRefused(t *testing.T) {
	admitting := func(code Code, text string) func(*Config) {
		return func(c *Config) { c.Admit = func(Peer) error { return &Refused{Code: code, Text: text} } }
	}
	id := func(change func(*Identity)) func(*Config) { return func(c *Config) { change(&c.Identity) } }
	for name, test := range map[string]struct {
		acceptor, dialer func(*Config)
		reason           string
		code             Code // 0: the other host sends nothing
	}{
		"no secret":      {nil, withSecret(nil), "only one of the two hosts has a cluster secret", 0},
		"another secret": {nil, withSecret([]byte("another one of many bytes")), "rejected the secret's proof", 0},
		"another deployment": {nil, id(func(i *Identity) { i.Deployment = 7 }),
			"the refused host has 7, the refusing host 42", CodeOtherDeployment},
		"an earlier generation": {id(func(i *Identity) { i.Generation = Generation{0, 0, 0, 7} }), nil,
			"the cluster was rebuilt without the refused host", CodeOtherGeneration},
		"a later generation": {nil, id(func(i *Identity) { i.Generation = Generation{0, 0, 0, 7, 1} }),
			"different generation: the refused host has 7 (01", CodeOtherDeployment},
		"another one of a generation": {id(func(i *Identity) { i.Generation = Generation{0, 0, 0, 7, 2} }),
			id(func(i *Identity) { i.Generation = Generation{0, 0, 0, 7, 1} }),
			"different generation: the refused host has 7 (01", CodeOtherDeployment},
		"our own id": {nil, id(func(i *Identity) { i.Host = 1 }), "but the refusing host has the id", CodeNotNow},
		"no host's id": {nil, id(func(i *Identity) { i.Host = 9 }), "but the cluster has no such host",
			CodeUnknownHost},
		"another incarnation": {nil, id(func(i *Identity) { i.Incarnation = hosts.Incarnation{9} }),
			"has the incarnation 0200", CodeOtherIncarnation},
		"an older copy": {admitting(CodeOlderCopy, "start 7 was seen: replace it"), nil, "start 7 was seen",
			CodeOlderCopy},
		"an expelled host":          {admitting(CodeExpelled, "it was expelled"), nil, "it was expelled", CodeExpelled},
		"a host that has no id yet": {id(func(i *Identity) { i.Host = 0 }), nil, "no id yet", CodeNotNow},
		"an acceptor that the dialer does not admit": {nil, admitting(CodeExpelled, "you were expelled"),
			"you were expelled", CodeExpelled},
	} {
		t.Run(name, func(t *testing.T) {
			nothing := func(*Config) {}
			told := make(chan *Refused, 2)
			acceptor, dialer := test.acceptor, test.dialer
			if acceptor == nil {
				acceptor = nothing
			}
			if dialer == nil {
				dialer = nothing
			}
			hear := func(c *Config) { c.TurnedAway = func(r *Refused) { told <- r } }
			e := newEndpoint(t, withSecret(testSecret), hear, acceptor)
			d, err := newDialer(t, e, hear, dialer).dialTarget(context.Background(), one)
			if err == nil {
				d.close()
				t.Fatal("connected")
			}
			if !strings.Contains(err.Error(), test.reason) {
				t.Errorf("the host that dialled has %q, want %q", err, test.reason)
			}
			if test.code != 0 {
				if r := <-told; r.Code != test.code || !strings.Contains(r.Text, test.reason) ||
					r.By == 0 && e.Identity().Host != 0 {
					t.Errorf("who is refused hears %v: %v", r.Code, r)
				}
			}
			if e.Identity().Host != 0 { // otherwise the host is merely early, which is no fault
				eventually(t, "the refusal", func() bool { return e.refused[RefusedHandshake].Load() == 1 })
			} else if n := e.refused[RefusedHandshake].Load(); n != 0 {
				t.Errorf("%d refusals are counted", n)
			}
			if len(e.batches) > 0 || len(told) > 0 {
				t.Error("something came through")
			}
		})
	}
}

// TestAWipedHostIsRefused: the host's directory was lost, and the host returns with its old id.
func TestAWipedHostIsRefused(t *testing.T) {
	e := newEndpoint(t)
	wiped := newDialer(t, e, func(c *Config) { c.Identity.Incarnation = hosts.Incarnation{9} })
	_, err := wiped.GetConnection(context.Background(), one.String())
	if r, ok := errors.AsType[*Refused](err); !ok || r.Code != CodeOtherIncarnation || !r.Code.Lasting() {
		t.Errorf("have %v", err)
	}
	// Nor do other hosts open a connection to the wiped host.
	at := newEndpoint(t, func(c *Config) { c.Identity, c.Hosts = wiped.Identity(), wiped.Hosts() })
	e.SetHosts([]Host{{ID: 2, Incarnation: two.Incarnation, Address: at.address}})
	_, err = e.dialTarget(context.Background(), two)
	if err == nil || !strings.Contains(err.Error(), "expected host 2") {
		t.Errorf("have %v", err)
	}
	if len(e.batches)+len(at.batches) > 0 {
		t.Error("something came through")
	}
}

// TestALaterStartEndsWhatIsLeftOfAnEarlierOne keeps a frequently restarted host from running out of connections.
func TestALaterStartEndsWhatIsLeftOfAnEarlierOne(t *testing.T) {
	e := newEndpoint(t)
	before := e.connect(t)
	e.peer = newDialer(t, e, func(c *Config) { c.Identity.Start = hosts.Start{Number: 6, Draw: 6} })
	e.connect(t)
	awaitEnd(t, before.conn)
}

// TestNothingIsSentToWhoDoesNotHaveTheSecret: a program without the secret listens at a host's address.
func TestNothingIsSentToWhoDoesNotHaveTheSecret(t *testing.T) {
	impostor := newEndpoint(t, withSecret([]byte("a secret that was guessed")))
	dialer := newDialer(t, impostor, withSecret(testSecret))
	if _, err := dialer.GetConnection(context.Background(), one.String()); !errors.Is(err, errHandshake) {
		t.Errorf("have %v, want a refusal", err)
	}
}

// TestARefusalThatProvesNothingIsNotHeeded: an unproven refusal could end a host's process.
func TestARefusalThatProvesNothingIsNotHeeded(t *testing.T) {
	key := []byte("a key of both sides")
	for name, tamper := range map[string]func([]byte) []byte{
		"of another code": func(v []byte) []byte { v[0] = byte(CodeExpelled); return v },
		"of another text": func(v []byte) []byte { v[verdictHead] ^= 1; return v },
		"cut off":         func(v []byte) []byte { return v[:len(v)-1] },
		"too long":        func(v []byte) []byte { binary.BigEndian.PutUint16(v[1:], maxRefusalText+1); return v },
	} {
		t.Run(name, func(t *testing.T) {
			var sent bytes.Buffer
			refusal := refusef(CodeNotNow, "later")
			if err := sendVerdict(&sent, key, refusal); !errors.Is(err, refusal) {
				t.Fatal(err)
			}
			if got, err := readVerdict(bytes.NewReader(sent.Bytes()), key); err != nil || *got != *refusal {
				t.Fatalf("as it was sent: %v, %v", got, err)
			}
			if got, err := readVerdict(bytes.NewReader(tamper(sent.Bytes())), key); err == nil {
				t.Errorf("it is taken for %v", got)
			}
		})
	}
}

func TestAHostOfTheVersionWithoutHandshakesIsNamed(t *testing.T) {
	e := newEndpoint(t)
	conn, err := net.Dial("tcp", e.address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	batch := goodBatch("x")
	payload := make([]byte, batch.Size())
	if _, err := batch.MarshalTo(payload); err != nil {
		t.Fatal(err)
	}
	if err := writeFrame(conn, nil, frameMessages, payload); err != nil { // at once, as the previous version did
		t.Fatal(err)
	}
	awaitEnd(t, conn)
	eventually(t, "what to do", func() bool { return strings.Contains(e.log.String(), "run one version") })
	if len(e.batches) != 0 {
		t.Errorf("%d batches came through", len(e.batches))
	}
}

// TestAHostOfTheVersionBeforeHearsOfThisOne: the previous version reads a hello's start, with the version.
func TestAHostOfTheVersionBeforeHearsOfThisOne(t *testing.T) {
	e := newEndpoint(t)
	conn, err := net.Dial("tcp", e.address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	old := append([]byte{'S', 'B', 'X', helloKind, handshakeVersion - 1}, make([]byte, helloSize-5)...)
	if _, err := conn.Write(old); err != nil {
		t.Fatal(err)
	}
	answer, err := io.ReadAll(io.LimitReader(conn, helloSize))
	if err != nil || len(answer) < helloSize || answer[4] != handshakeVersion {
		t.Errorf("it gets %x, %v", answer, err)
	}
	eventually(t, "what to do", func() bool { return strings.Contains(e.log.String(), "run one version") })
}

// tappedConn keeps written data.
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
			s := e.connect(t)
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
			eventually(t, "the refusal", func() bool { return e.refused[RefusedFrame].Load() == 1 })
			if len(e.batches) != 0 {
				t.Errorf("%d batches came through", len(e.batches))
			}
		})
	}
}

// discardConn is a connection with redirected writes.
type discardConn struct {
	net.Conn
	to io.Writer
}

func (c discardConn) Write(p []byte) (int, error) { return c.to.Write(p) }

func BenchmarkSendingWithAndWithoutAMAC(b *testing.B) {
	for _, size := range []int{6 << 10, 1 << 20} {
		for _, secret := range [][]byte{nil, testSecret} {
			b.Run(fmt.Sprintf("bytes=%d/mac=%v", size, secret != nil), func(b *testing.B) {
				ours, theirs := newHello(new(Identity), nil, purposeFrames), newHello(new(Identity), nil, purposeFrames)
				keys, err := drawKeys(secret, ours, theirs)
				if err != nil {
					b.Fatal(err)
				}
				near, far := net.Pipe()
				defer near.Close()
				defer far.Close()
				s := &sender{dialled: &dialled{conn: discardConn{near, io.Discard}}, sending: func([]raftpb.Message) {}}
				if err := s.setMACs(secret, keys.frames, keys.answers); err != nil {
					b.Fatal(err)
				}
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
