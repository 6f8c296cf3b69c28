package transport

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/signalbox/signalbox/internal/testcert"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/hosts"
)

// answering makes a host answer calls with a function's result.
func answering(answer func(ctx context.Context, peer Peer, request []byte) ([]byte, error)) func(*Config) {
	return func(c *Config) { c.Answer = answer }
}

// describe answers with the caller and the request.
func describe(_ context.Context, peer Peer, request []byte) ([]byte, error) {
	return fmt.Appendf(nil, "%v %d: %s", peer.Named(), peer.Host, request), nil
}

func TestHostsCallEachOther(t *testing.T) {
	for name, secret := range map[string][]byte{"without a secret": nil, "with a secret": testSecret} {
		t.Run(name, func(t *testing.T) {
			e := newEndpoint(t, withSecret(secret), answering(describe))
			for host, want := range map[shard.HostID]string{1: "true 2: hello", 2: "true 2: hello"} {
				got, err := e.peer.Call(t.Context(), host, []byte("hello"))
				if string(got) != want || err != nil {
					t.Errorf("host %d answers %q, %v; want %q", host, got, err, want)
				}
			}
			if _, err := e.peer.Call(t.Context(), 9, nil); !errors.Is(err, ErrUnknownHost) {
				t.Errorf("a host that is not in the book: %v", err)
			}
		})
	}
}

// TestAHostThatHasNoIDCanOnlyCall: such a host proves no identity, and the answering host sees this.
func TestAHostThatHasNoIDCanOnlyCall(t *testing.T) {
	var heard, said [32]byte
	e := newEndpoint(t, withSecret(testSecret), answering(func(ctx context.Context, peer Peer, request []byte) ([]byte,
		error) {
		if peer.Identity != (Identity{}) {
			t.Errorf("it is taken for %v", peer.Identity)
		}
		heard = peer.Transcript
		return describe(ctx, peer, request)
	}))
	bootstrapping := newDialer(t, e, withSecret(nil), func(c *Config) { c.Identity = Identity{} })
	got, err := bootstrapping.CallUnnamed(t.Context(), e.address, func(peer Peer) ([]byte, error) {
		if said = peer.Transcript; peer.Target() != one {
			t.Errorf("it called %v", &peer)
		}
		return []byte("let me in"), nil
	})
	if string(got) != "false 0: let me in" || err != nil {
		t.Errorf("have %q, %v", got, err)
	}
	if heard != said || said == ([32]byte{}) {
		t.Errorf("the ends of the connection have the transcripts %x and %x", heard, said)
	}
	if d, err := bootstrapping.dialTarget(t.Context(), one); err == nil {
		d.close()
		t.Error("a host without an id opened a connection for the engine")
	}
}

// TestAHostThatHasJoinedIsNamed: the host got an id and the secret over an unnamed connection, which shows its
// certificate with TLS.
func TestAHostThatHasJoinedIsNamed(t *testing.T) {
	authority := testcert.New(t)
	for name, secured := range map[string]bool{"plain": false, "TLS": true} {
		t.Run(name, func(t *testing.T) {
			at := func(string) []func(*Config) { return nil }
			if secured {
				at = func(name string) []func(*Config) {
					return []func(*Config){certified(t, authority.Sign(t, name))}
				}
			}
			e := newEndpoint(t, append(at("one"), withSecret(testSecret), answering(func(_ context.Context, peer Peer,
				_ []byte) ([]byte, error) {
				return fmt.Appendf(nil, "%t %t %t", peer.Named(), peer.CertifiedAs("two"), peer.CertifiedAs("one")), nil
			}))...)
			config := Config{Logger: slog.New(slog.NewTextHandler(t.Output(), nil))}
			for _, change := range at("two") {
				change(&config)
			}
			joiner := Open(config)
			defer joiner.Close()
			got, err := joiner.CallUnnamed(t.Context(), e.address, func(Peer) ([]byte, error) { return nil, nil })
			if want := fmt.Sprintf("false %t false", secured); string(got) != want || err != nil {
				t.Errorf("unnamed: %q, %v; want %q", got, err, want)
			}
			joiner.SetHosts([]Host{{ID: 1, Name: "one", Incarnation: one.Incarnation, Address: e.address}})
			joiner.Identify(identityOf(two))
			if _, err := joiner.Call(t.Context(), 1, nil); err == nil {
				t.Error("it is named, and does not have the secret")
			}
			joiner.SetSecret(testSecret)
			got, err = joiner.Call(t.Context(), 1, nil)
			if want := fmt.Sprintf("true %t false", secured); string(got) != want || err != nil {
				t.Errorf("named: %q, %v; want %q", got, err, want)
			}
		})
	}
}

func TestACallThatCannotBeAnsweredFails(t *testing.T) {
	large := make([]byte, MaxCallBytes+1)
	late := make(chan struct{})
	hang := func(context.Context, Peer, []byte) ([]byte, error) { <-late; return nil, nil }
	say := func(answer []byte, err error) func(*Config) {
		return answering(func(context.Context, Peer, []byte) ([]byte, error) { return answer, err })
	}
	for name, test := range map[string]struct {
		host    func(*Config)
		request []byte
		reason  string
		answer  bool // whether the other host reports a response
	}{
		"an error":                 {say(nil, errors.New("no such shard")), nil, "no such shard", true},
		"a host that answers none": {answering(nil), nil, "answers no calls", true},
		"a large answer":           {say(large, nil), nil, "too large", true},
		"a large request":          {say(nil, nil), large, "too large", false},
		"no answer in time":        {answering(hang), nil, "deadline", false},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEndpoint(t, test.host)
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			if name == "no answer in time" {
				cancel()
				ctx, cancel = context.WithTimeout(t.Context(), 100*time.Millisecond)
				t.Cleanup(func() { close(late) }) // before the transport is closed
			}
			defer cancel()
			_, err := e.peer.Call(ctx, 1, test.request)
			if err == nil || !strings.Contains(err.Error(), test.reason) {
				t.Fatalf("have %v, want %q", err, test.reason)
			}
			if _, said := errors.AsType[*AnswerError](err); said != test.answer {
				t.Errorf("the other host says so: %v", said)
			}
		})
	}
}

func TestTheLargestCallIsAnswered(t *testing.T) {
	echo := func(_ context.Context, _ Peer, request []byte) ([]byte, error) { return request, nil }
	e := newEndpoint(t, withSecret(testSecret), answering(echo))
	request := bytes.Repeat([]byte("x"), MaxCallBytes)
	if got, err := e.peer.Call(t.Context(), 1, request); err != nil || !bytes.Equal(got, request) {
		t.Errorf("%d bytes came back, %v", len(got), err)
	}
}

// TestCallsThatHangKeepNothingElseBack: calls from hosts without an id have a separate limit, and engine frames never
// wait for calls.
func TestCallsThatHangKeepNothingElseBack(t *testing.T) {
	var calls atomic.Int64
	release := make(chan struct{})
	e := newEndpoint(t, answering(func(ctx context.Context, peer Peer, _ []byte) ([]byte, error) {
		calls.Add(1)
		select {
		case <-release:
		case <-ctx.Done():
		}
		return nil, nil
	}))
	call := func() error {
		_, err := e.peer.CallUnnamed(t.Context(), e.address, func(Peer) ([]byte, error) { return nil, nil })
		return err
	}
	ended := make(chan error, maxUnnamed)
	for range maxUnnamed {
		go func() { ended <- call() }()
	}
	eventually(t, "the calls", func() bool { return calls.Load() == maxUnnamed })
	if r, ok := errors.AsType[*Refused](call()); !ok || r.Code != CodeNotNow {
		t.Errorf("one more: %v", r)
	}
	if err := e.connect(t).SendMessageBatch(goodBatch("passes")); err != nil {
		t.Fatal(err)
	}
	<-e.batches
	close(release)
	for range maxUnnamed {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	if _, err := e.peer.Call(t.Context(), 1, nil); err != nil {
		t.Error(err)
	}
}

// TestTheCloseOfATransportEndsCalls on both sides.
func TestTheCloseOfATransportEndsCalls(t *testing.T) {
	began := make(chan struct{})
	e := newEndpoint(t, answering(func(ctx context.Context, _ Peer, _ []byte) ([]byte, error) {
		close(began)
		<-ctx.Done()
		return nil, ctx.Err()
	}))
	ended := make(chan error, 1)
	go func() {
		_, err := e.peer.Call(context.Background(), 1, nil)
		ended <- err
	}()
	<-began
	e.Transport.Close()
	if err := <-ended; err == nil {
		t.Error("the call was answered")
	}
}

// TestTheAddressBookChanges: a host is found at its new address. Connections to its old address end, like connections
// to and from a host that has left.
func TestTheAddressBookChanges(t *testing.T) {
	e := newEndpoint(t)
	conn := e.connect(t)
	if err := conn.SendMessageBatch(goodBatch("before")); err != nil {
		t.Fatal(err)
	}
	<-e.batches
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	moved := newEndpoint(t, func(c *Config) {
		c.Listener.Close()
		c.Listener = listener
	})
	book := []Host{{ID: 1, Incarnation: one.Incarnation, Address: listener.Addr().String()}}
	e.peer.SetHosts(book)
	awaitEnd(t, conn.conn)
	if err := conn.SendMessageBatch(goodBatch("after")); err != nil {
		t.Fatal(err)
	}
	if got := <-moved.batches; string(got.Requests[0].Entries[0].Cmd) != "after" {
		t.Errorf("have %v", got)
	}
	e.peer.SetHosts(book) // nothing changes
	if err := conn.SendMessageBatch(goodBatch("again")); err != nil {
		t.Fatal(err)
	}
	<-moved.batches
	for name, book := range map[string][]Host{
		"it has left":         nil,
		"another incarnation": {{ID: 2, Incarnation: hosts.Incarnation{9}, Address: "b.example:1"}},
	} {
		open := moved.connectFrom(t, e.peer)
		moved.SetHosts(book)
		awaitEnd(t, open.conn)
		if d, err := e.peer.dialTarget(t.Context(), one); err == nil {
			d.close()
			t.Errorf("%s: it is let in", name)
		}
		moved.SetHosts([]Host{{ID: 2, Incarnation: two.Incarnation, Address: "b.example:1"}})
	}
}

func TestTargets(t *testing.T) {
	good := Target{Host: 4294967295, Incarnation: hosts.Incarnation{0xab, 15: 0x01}}
	if got, err := ParseTarget(good.String()); got != good || err != nil {
		t.Errorf("%v is read as %v, %v", good, got, err)
	}
	zeros := strings.Repeat("0", 32)
	for _, text := range []string{
		"", "h1", "h1.", "1." + zeros, "h." + zeros, "h01." + zeros, "h-1." + zeros, "h1." + zeros[1:],
		"h1." + zeros + "0",
		"h1." + strings.Repeat("A", 32), "h99999999999999999999." + zeros, "127.0.0.1:7421", "h1:" + zeros,
	} {
		if got, err := ParseTarget(text); err == nil {
			t.Errorf("%q is read as %v", text, got)
		}
	}
	text := good.String()
	if n := testing.AllocsPerRun(100, func() { (&Factory{}).Validate(text) }); n != 0 {
		t.Errorf("to check a target takes %v allocations", n)
	}
}
