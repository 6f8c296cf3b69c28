package transport

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox/signalbox/internal/testcert"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/hosts"
)

// counted counts the connections dialed by a host.
func counted(dials *atomic.Int64) func(*Config) {
	return func(c *Config) {
		c.Dial = func(ctx context.Context, address string) (net.Conn, error) {
			dials.Add(1)
			return dialTCP(ctx, address)
		}
	}
}

// echo answers with the request.
func echo(_ context.Context, _ Peer, request []byte) ([]byte, error) {
	return bytes.Clone(request), nil
}

// mustCall makes a call to host 1, which must echo the request.
func mustCall(t *testing.T, from *Transport, request string) {
	t.Helper()
	if got, err := from.Call(t.Context(), 1, []byte(request)); err != nil || string(got) != request {
		t.Fatalf("%q is answered %q, %v", request, got, err)
	}
}

// TestCallsShareAConnection: each call gets its own answer although all are concurrent.
func TestCallsShareAConnection(t *testing.T) {
	for name, secret := range map[string][]byte{"without a secret": nil, "with a secret": testSecret} {
		t.Run(name, func(t *testing.T) {
			var dials, begun atomic.Int64
			all := make(chan struct{})
			const calls = maxKeptCalls
			e := newEndpoint(t, withSecret(secret), answering(func(ctx context.Context, peer Peer,
				request []byte) ([]byte, error) {
				if string(request) != "first" && begun.Add(1) == calls {
					close(all)
				}
				if string(request) != "first" {
					<-all
				}
				return echo(ctx, peer, request)
			}))
			from := newDialer(t, e, counted(&dials))
			mustCall(t, from.Transport, "first")
			var running sync.WaitGroup
			for i := range calls {
				running.Go(func() {
					want := fmt.Sprint("call ", i)
					if got, err := from.Call(t.Context(), 1, []byte(want)); err != nil || string(got) != want {
						t.Errorf("%q is answered %q, %v", want, got, err)
					}
				})
			}
			running.Wait()
			if n := dials.Load(); n != 1 || from.KeptPeers() != 1 {
				t.Errorf("%d connections were made, and %d are kept, want 1", n, from.KeptPeers())
			}
		})
	}
}

// TestCallsThatAKeptConnectionHasNoRoomForWaitForNothing: calls above the limit, and large ones, use separate
// connections.
func TestCallsThatAKeptConnectionHasNoRoomForWaitForNothing(t *testing.T) {
	var dials, hanging atomic.Int64
	release := make(chan struct{})
	e := newEndpoint(t, answering(func(ctx context.Context, peer Peer, request []byte) ([]byte, error) {
		if string(request) == "hang" {
			hanging.Add(1)
			<-release
		}
		return echo(ctx, peer, request)
	}))
	from := newDialer(t, e, counted(&dials))
	mustCall(t, from.Transport, "first")
	mustCall(t, from.Transport, strings.Repeat("x", maxKeptBytes))
	mustCall(t, from.Transport, strings.Repeat("x", maxKeptBytes+1))
	if n := dials.Load(); n != 2 {
		t.Errorf("%d connections were made, want 2", n)
	}
	var running sync.WaitGroup
	for range maxKeptCalls {
		running.Go(func() {
			if _, err := from.Call(t.Context(), 1, []byte("hang")); err != nil {
				t.Error(err)
			}
		})
	}
	eventually(t, "the calls", func() bool { return hanging.Load() == maxKeptCalls })
	mustCall(t, from.Transport, "one more")
	if n := dials.Load(); n != 3 {
		t.Errorf("%d connections were made, want 3", n)
	}
	close(release)
	running.Wait()
	mustCall(t, from.Transport, "room again")
	if n := dials.Load(); n != 3 {
		t.Errorf("%d connections were made, want 3", n)
	}
}

// scripted is host 1, played by a test, at the other end of a connection.
type scripted struct {
	net.Conn
	greeting
}

// play accepts connections as host 1, with or without support for persistent connections, and runs a function on each.
func play(t *testing.T, secret []byte, keeps bool, each func(*scripted)) (address string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	t.Cleanup(running.Wait)
	t.Cleanup(func() { listener.Close() })
	running.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			running.Go(func() {
				defer conn.Close()
				if g, err := playHandshake(conn, secret, keeps); err != nil {
					t.Error(err)
				} else {
					each(&scripted{conn, g})
				}
			})
		}
	})
	return listener.Addr().String()
}

// playHandshake runs an acceptor's handshake, byte by byte.
func playHandshake(conn net.Conn, secret []byte, keeps bool) (g greeting, err error) {
	var theirs hello
	if _, err := io.ReadFull(conn, theirs[:]); err != nil {
		return g, err
	}
	if theirs[6] != 2 {
		return g, fmt.Errorf("a hello for purpose %d", theirs[6])
	}
	self := identityOf(one)
	ours := newHello(&self, secret, purposeCall)
	if keeps {
		ours[7] = 2
	}
	keys, err := drawKeys(secret, &theirs, ours)
	if err != nil {
		return g, err
	}
	proof := make([]byte, proofSize)
	if _, err := conn.Write(ours[:]); err != nil {
		return g, err
	}
	if _, err := io.ReadFull(conn, proof); err != nil || !bytes.Equal(proof, keys.proof) {
		return g, fmt.Errorf("the proof %x, %v", proof, err)
	}
	if err := sendVerdict(conn, keys.acceptor, nil); err != nil {
		return g, err
	}
	if refusal, err := readVerdict(conn, keys.dialer); err != nil || refusal != nil {
		return g, fmt.Errorf("%v, %w", refusal, err)
	}
	return g, g.setMACs(secret, keys.answers, keys.frames)
}

// heard reads the next call on a kept connection.
func (s *scripted) heard(frames *frameReader) (id uint64, request string, err error) {
	_, payload, err := frames.next()
	if err != nil {
		return 0, "", err
	}
	return binary.BigEndian.Uint64(payload), string(payload[keptHead+callHead:]), nil
}

// says answers a call on a kept connection.
func (s *scripted) says(id uint64, head byte, answer string) error {
	payload := append(binary.BigEndian.AppendUint64(nil, id), head)
	return writeFrame(s, s.out, frameKeptAnswer, append(payload, answer...))
}

// dialerAt returns the transport of host 2, which knows host 1 at an address.
func dialerAt(t *testing.T, address string, changes ...func(*Config)) *Transport {
	t.Helper()
	return newDialer(t, newEndpoint(t), append([]func(*Config){func(c *Config) {
		c.Hosts[0].Address = address
	}}, changes...)...).Transport
}

// TestAHostThatKeepsNoConnectionsIsCalled: during an upgrade, an old build answers one call per connection, with the
// original bytes.
func TestAHostThatKeepsNoConnectionsIsCalled(t *testing.T) {
	for name, secret := range map[string][]byte{"without a secret": nil, "with a secret": testSecret} {
		t.Run(name, func(t *testing.T) {
			var dials atomic.Int64
			address := play(t, secret, false, func(s *scripted) {
				_, payload, err := newFrameReader(s, s.in, framesOfCall).next()
				if err != nil {
					t.Error(err)
					return
				}
				answer := append([]byte{answerGood}, payload[callHead:]...)
				if err := writeFrame(s, s.out, frameAnswer, answer); err != nil {
					t.Error(err)
				}
			})
			from := dialerAt(t, address, withSecret(secret), counted(&dials))
			for i := range 3 {
				mustCall(t, from, fmt.Sprint("call ", i))
			}
			if n := dials.Load(); n != 3 {
				t.Errorf("%d connections were made, want 3", n)
			}
		})
	}
}

// TestAHostThatKeepsNoConnectionsCalls: the hello has a zero in byte 7, and so has the answer to that hello.
func TestAHostThatKeepsNoConnectionsCalls(t *testing.T) {
	e := newEndpoint(t, withSecret(testSecret), answering(echo))
	for range 3 {
		conn, err := net.Dial("tcp", e.address)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		self := identityOf(two)
		ours, theirs := newHello(&self, testSecret, purposeCall), new(hello)
		if ours[7] != 0 {
			t.Fatalf("the hello of such a host has %d in byte 7", ours[7])
		}
		if _, err := conn.Write(ours[:]); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(conn, theirs[:]); err != nil || theirs[6] != 2 || theirs[7] != 0 {
			t.Fatalf("the hello is answered by %x, %v", theirs[:8], err)
		}
		keys, err := drawKeys(testSecret, ours, theirs)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Write(keys.proof); err != nil {
			t.Fatal(err)
		}
		if refusal, err := readVerdict(conn, keys.acceptor); err != nil || refusal != nil {
			t.Fatal(refusal, err)
		}
		var g greeting
		if err := errors.Join(sendVerdict(conn, keys.dialer, nil),
			g.setMACs(testSecret, keys.frames, keys.answers)); err != nil {
			t.Fatal(err)
		}
		payload := append(binary.BigEndian.AppendUint64(nil, 1000), "hello"...)
		if err := writeFrame(conn, g.out, frameCall, payload); err != nil {
			t.Fatal(err)
		}
		_, answer, err := newFrameReader(conn, g.in, framesOfAnswer).next()
		if want := "\x00hello"; err != nil || string(answer) != want {
			t.Fatalf("the answer is %q, %v; want %q", answer, err, want)
		}
		awaitEnd(t, conn)
	}
}

// TestAnswersFindTheirCalls: the other host answers in reverse order.
func TestAnswersFindTheirCalls(t *testing.T) {
	address := play(t, testSecret, true, func(s *scripted) {
		frames := newFrameReader(s, s.in, framesOfKeptCalls)
		id, first, err := s.heard(frames)
		if err == nil {
			err = s.says(id, answerGood, first)
		}
		ids, requests := [2]uint64{}, [2]string{}
		for i := range ids {
			ids[i], requests[i], _ = s.heard(frames)
		}
		for i := range ids {
			err = errors.Join(err, s.says(ids[1-i], answerGood, requests[1-i]))
		}
		if err != nil {
			t.Error(err)
		}
		_, _, _ = s.heard(frames) // until the connection ends
	})
	from := dialerAt(t, address, withSecret(testSecret))
	mustCall(t, from, "first")
	var running sync.WaitGroup
	for _, request := range []string{"a", "b"} {
		running.Go(func() { mustCall(t, from, request) })
	}
	running.Wait()
	from.Close()
}

// TestACallOnABrokenConnectionIsNotRepeated: it may have been executed.
func TestACallOnABrokenConnectionIsNotRepeated(t *testing.T) {
	var heard atomic.Int64
	address := play(t, nil, true, func(s *scripted) {
		frames := newFrameReader(s, s.in, framesOfKeptCalls)
		id, request, err := s.heard(frames)
		if err == nil {
			err = s.says(id, answerGood, request)
		}
		if err != nil {
			t.Error(err)
			return
		}
		if _, request, err := s.heard(frames); err == nil && request == "breaks" {
			heard.Add(1)
		}
	})
	from := dialerAt(t, address)
	mustCall(t, from, "first")
	_, err := from.Call(t.Context(), 1, []byte("breaks"))
	if _, said := errors.AsType[*AnswerError](err); err == nil || said || heard.Load() != 1 {
		t.Errorf("%v, and the call was heard %d times", err, heard.Load())
	}
	mustCall(t, from, "over a new connection")
	from.Close()
}

// TestAnAnswerToNoCallEndsTheConnection: so does a duplicate answer, and a second answer in the place of another
// call's.
func TestAnAnswerToNoCallEndsTheConnection(t *testing.T) {
	for name, wrong := range map[string]func(s *scripted, id uint64) error{
		"to no call":    func(s *scripted, id uint64) error { return s.says(id+1, answerGood, "wrong") },
		"to call 0":     func(s *scripted, _ uint64) error { return s.says(0, answerGood, "wrong") },
		"to a past one": func(s *scripted, id uint64) error { return s.says(id-1, answerGood, "wrong") },
		"without a head": func(s *scripted, id uint64) error {
			return writeFrame(s, s.out, frameKeptAnswer, binary.BigEndian.AppendUint64(nil, id))
		},
		"of a single call": func(s *scripted, _ uint64) error {
			return writeFrame(s, s.out, frameAnswer, []byte{answerGood})
		},
	} {
		t.Run(name, func(t *testing.T) {
			address := play(t, nil, true, func(s *scripted) {
				frames := newFrameReader(s, s.in, framesOfKeptCalls)
				id, request, err := s.heard(frames)
				err = errors.Join(err, s.says(id, answerGood, request))
				if id, _, failed := s.heard(frames); failed == nil {
					err = errors.Join(err, wrong(s, id))
				}
				if err != nil {
					t.Error(err)
				}
				awaitEnd(t, s)
			})
			from := dialerAt(t, address)
			mustCall(t, from, "first")
			if got, err := from.Call(t.Context(), 1, []byte("second")); err == nil {
				t.Errorf("the call is answered %q", got)
			}
			from.Close()
		})
	}
}

// TestAnAcceptorBoundsWhatADialerAsks: too many concurrent calls, and a call that is too short or too long, end the
// connection.
func TestAnAcceptorBoundsWhatADialerAsks(t *testing.T) {
	call := func(id uint64, request string) []byte {
		return append(binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, id), 1000), request...)
	}
	for name, send := range map[string]func(d *dialled) error{
		"too many": func(d *dialled) error {
			for id := range uint64(maxKeptCalls + 1) {
				if err := writeFrame(d.conn, d.out, frameKeptCall, call(id, "")); err != nil {
					return err
				}
			}
			return nil
		},
		"too short": func(d *dialled) error {
			return writeFrame(d.conn, d.out, frameKeptCall, call(1, "")[:keptHead+callHead-1])
		},
		"too long": func(d *dialled) error {
			return writeFrame(d.conn, d.out, frameKeptCall, call(1, strings.Repeat("x", maxKeptBytes+1)))
		},
		"a single call": func(d *dialled) error { return writeFrame(d.conn, d.out, frameCall, call(1, "")) },
	} {
		t.Run(name, func(t *testing.T) {
			e := newEndpoint(t, answering(func(ctx context.Context, _ Peer, _ []byte) ([]byte, error) {
				<-ctx.Done()
				return nil, nil
			}))
			d, err := e.peer.dial(t.Context(), e.peer.Hosts()[0], purposeCalls)
			if err != nil || d.purpose != purposeCalls {
				t.Fatal(d, err)
			}
			defer d.close()
			if err := send(d); err != nil {
				t.Fatal(err)
			}
			awaitEnd(t, d.conn)
			eventually(t, "the refusal", func() bool { return e.refused[RefusedFrame].Load() == 1 })
		})
	}
}

// TestAConnectionThatMayLeadNowhereIsMadeAnew: nothing arrived over it between a call's start and its deadline. A
// connection with another answer meanwhile remains, and so does one whose caller left before the deadline.
func TestAConnectionThatMayLeadNowhereIsMadeAnew(t *testing.T) {
	var dials atomic.Int64
	release, hangs := make(chan struct{}), make(chan struct{}, 10)
	e := newEndpoint(t, answering(func(ctx context.Context, peer Peer, request []byte) ([]byte, error) {
		if string(request) == "hang" {
			hangs <- struct{}{}
			<-release
		}
		return echo(ctx, peer, request)
	}))
	t.Cleanup(func() { close(release) })
	from := newDialer(t, e, counted(&dials))
	mustCall(t, from.Transport, "first")
	hang := func(meanwhile func(cancel context.CancelFunc), within time.Duration, made int64) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), within)
		defer cancel()
		ended := make(chan error, 1)
		go func() {
			_, err := from.Call(ctx, 1, []byte("hang"))
			ended <- err
		}()
		<-hangs
		meanwhile(cancel)
		if err := <-ended; !errors.Is(err, ctx.Err()) {
			t.Errorf("the call ends with %v", err)
		}
		mustCall(t, from.Transport, "next")
		if n := dials.Load(); n != made {
			t.Errorf("%d connections were made, want %d", n, made)
		}
	}
	hang(func(cancel context.CancelFunc) { cancel() }, patience, 1)
	hang(func(context.CancelFunc) { mustCall(t, from.Transport, "meanwhile") }, 200*time.Millisecond, 1)
	hang(func(context.CancelFunc) {}, 50*time.Millisecond, 2)
}

// TestAChangeOfCertificatesEndsKeptConnections at either end, and no call notices.
func TestAChangeOfCertificatesEndsKeptConnections(t *testing.T) {
	authority := testcert.New(t)
	files := map[string]testcert.Files{"one": authority.Sign(t, "one"), "two": authority.Sign(t, "two")}
	var dials atomic.Int64
	e := newEndpoint(t, certified(t, files["one"]), answering(echo))
	from := newDialer(t, e, certified(t, files["two"]), counted(&dials))
	mustCall(t, from.Transport, "first")
	for made, test := range []struct {
		name string
		of   *Transport
	}{{"one", e.Transport}, {"two", from.Transport}} {
		before := test.of.proof()
		mustCall(t, from.Transport, "before")
		if n := dials.Load(); n != int64(made+1) {
			t.Errorf("%s: %d connections were made, want %d", test.name, n, made+1)
		}
		authority.SignAnew(t, files[test.name], &x509.Certificate{DNSNames: []string{test.name}})
		eventually(t, "the changed files", func() bool { return test.of.proof() != before })
		mustCall(t, from.Transport, "after")
		if n := dials.Load(); n != int64(made+2) {
			t.Errorf("%s: %d connections were made, want %d", test.name, n, made+2)
		}
	}
}

// TestAHostWhoseCertificateCountsNoMoreCallsNoMore: the peer's authorities have changed, so the old connection cannot
// be used.
func TestAHostWhoseCertificateCountsNoMoreCallsNoMore(t *testing.T) {
	authority, next := testcert.New(t), testcert.New(t)
	files := authority.Sign(t, "one")
	authorities, err := os.ReadFile(files.CAFile)
	if err != nil {
		t.Fatal(err)
	}
	files.CAFile = filepath.Join(t.TempDir(), "ca.pem") // of host 1 alone
	if err := os.WriteFile(files.CAFile, authorities, 0o600); err != nil {
		t.Fatal(err)
	}
	var calls atomic.Int64
	e := newEndpoint(t, certified(t, files), answering(func(ctx context.Context, peer Peer, r []byte) ([]byte, error) {
		calls.Add(1)
		return echo(ctx, peer, r)
	}))
	from := newDialer(t, e, certified(t, authority.Sign(t, "two")))
	mustCall(t, from.Transport, "first")
	before := e.Transport.proof()
	changed := next.Sign(t, "one")
	for from, to := range map[string]string{changed.CAFile: files.CAFile, changed.CertFile: files.CertFile,
		changed.KeyFile: files.KeyFile} {
		if err := os.Rename(from, to); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "the changed files", func() bool { return e.Transport.proof() != before })
	if got, err := from.Call(t.Context(), 1, []byte("second")); err == nil || calls.Load() != 1 {
		t.Errorf("the call is answered %q, and %d were Success", got, calls.Load())
	}
}

// TestASecretThatChangesEndsKeptConnections at either end.
func TestASecretThatChangesEndsKeptConnections(t *testing.T) {
	e := newEndpoint(t, withSecret(testSecret), answering(echo))
	from := newDialer(t, e)
	mustCall(t, from.Transport, "first")
	from.SetSecret([]byte("another secret of many bytes"))
	if _, err := from.Call(t.Context(), 1, nil); err == nil {
		t.Error("a call is answered over the connection of before")
	}
	from.SetSecret(testSecret)
	mustCall(t, from.Transport, "second")
	e.Close() // without closing the engine's end it would accept another secret
	e.SetSecret([]byte("another secret of many bytes"))
	if _, err := from.Call(t.Context(), 1, nil); err == nil {
		t.Error("a call is answered over the connection of before")
	}
}

// TestAChangeOfTheBookEndsKeptConnections: a changed address or incarnation, at either end.
func TestAChangeOfTheBookEndsKeptConnections(t *testing.T) {
	e, elsewhere := newEndpoint(t, answering(echo)), newEndpoint(t, answering(
		func(context.Context, Peer, []byte) ([]byte, error) { return []byte("elsewhere"), nil }))
	from := newDialer(t, e)
	mustCall(t, from.Transport, "first")
	from.SetHosts([]Host{{ID: 1, Name: "one", Incarnation: one.Incarnation, Address: elsewhere.address}})
	mustCall(t, from.Transport, "elsewhere")
	from.SetHosts([]Host{{ID: 1, Name: "one", Incarnation: hosts.Incarnation{9}, Address: elsewhere.address}})
	if _, err := from.Call(t.Context(), 1, []byte("elsewhere")); err == nil {
		t.Error("another incarnation is called over the connection of before")
	}
	from.SetHosts([]Host{{ID: 1, Name: "one", Incarnation: one.Incarnation, Address: e.address}})
	mustCall(t, from.Transport, "second")
	e.SetHosts(nil) // host 2 has left
	if _, err := from.Call(t.Context(), 1, []byte("third")); err == nil {
		t.Error("a host that has left calls over the connection of before")
	}
}

// TestALaterStartIsHeardOverItsOwnConnection: a restarted host calls and is called.
func TestALaterStartIsHeardOverItsOwnConnection(t *testing.T) {
	e := newEndpoint(t, answering(func(_ context.Context, peer Peer, _ []byte) ([]byte, error) {
		return fmt.Append(nil, peer.Start.Number), nil
	}))
	earlier := newDialer(t, e)
	mustCall(t, earlier.Transport, "5")
	later := newDialer(t, e, func(c *Config) { c.Identity.Start = hosts.Start{Number: 6, Draw: 6} })
	mustCall(t, later.Transport, "6")
	eventually(t, "the end of the connections of the earlier start", func() bool {
		e.mu.Lock()
		defer e.mu.Unlock()
		return len(e.accepted) == 1
	})
	at := e.Identity()
	e.Transport.Close()
	again := newEndpoint(t, answering(echo), func(c *Config) {
		c.Identity = at
		c.Identity.Start.Number++
	})
	later.SetHosts([]Host{{ID: 1, Name: "one", Incarnation: one.Incarnation, Address: again.address}})
	mustCall(t, later.Transport, "to a host that was started again")
}

// pipes connects transports in memory.
type pipes chan net.Conn

func (p pipes) Accept() (net.Conn, error) {
	conn, open := <-p
	if !open {
		return nil, net.ErrClosed
	}
	return conn, nil
}
func (p pipes) Close() error   { close(p); return nil } // by the transport, once
func (p pipes) Addr() net.Addr { return &net.TCPAddr{} }

// TestAKeptConnectionEndsAfterAnHour: when its running call is over; the next call opens a new one.
func TestAKeptConnectionEndsAfterAnHour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var dials atomic.Int64
		accepted := make(pipes)
		e := newEndpoint(t, func(c *Config) {
			c.Listener.Close()
			c.Listener = accepted
		}, answering(func(ctx context.Context, peer Peer, request []byte) ([]byte, error) {
			if string(request) == "long" {
				time.Sleep(30 * time.Second)
			}
			return echo(ctx, peer, request)
		}))
		from := newDialer(t, e, func(c *Config) {
			c.Dial = func(context.Context, string) (net.Conn, error) {
				dials.Add(1)
				near, far := net.Pipe()
				accepted <- far
				return near, nil
			}
		})
		call := func(request string, made int64) {
			t.Helper()
			mustCall(t, from.Transport, request)
			if n := dials.Load(); n != made {
				t.Errorf("%q: %d connections were made, want %d", request, n, made)
			}
		}
		open := func() int {
			e.mu.Lock()
			defer e.mu.Unlock()
			return len(e.accepted)
		}
		call("first", 1)
		time.Sleep(keptFor - 10*time.Second)
		call("second", 1)
		var running sync.WaitGroup
		running.Go(func() { call("long", 2) }) // a concurrent call opens a connection
		time.Sleep(15 * time.Second)
		call("after an hour", 2)
		if n := open(); n != 2 {
			t.Errorf("%d connections are open, want 2", n)
		}
		running.Wait()
		synctest.Wait()
		if n := open(); n != 1 {
			t.Errorf("%d connections are open, want 1", n)
		}
		time.Sleep(2 * keptFor)
		synctest.Wait()
		if n := open(); n != 0 {
			t.Errorf("%d connections are open, want none", n)
		}
		call("much later", 3)
	})
}

// TestTheFramesOfKeptConnectionsAreWhatTheyWere: hosts in an upgrade exchange them.
func TestTheFramesOfKeptConnectionsAreWhatTheyWere(t *testing.T) {
	var sent bytes.Buffer
	for kind, payload := range map[byte]string{
		frameKeptCall: "\x00\x00\x00\x00\x00\x00\x00\x09", frameKeptAnswer: "x",
	} {
		sent.Reset()
		if err := writeFrame(&sent, nil, kind, []byte(payload)); err != nil {
			t.Fatal(err)
		}
		want := map[byte]string{
			7: "5342580700000008a1a6c9330000000000000009", 8: "5342580800000001aedf738178",
		}[kind]
		if got := fmt.Sprintf("%x", sent.Bytes()); got != want {
			t.Errorf("a frame of kind %d is %s, want %s", kind, got, want)
		}
	}
	self := identityOf(two)
	if h := newHello(&self, testSecret, purposeCalls); fmt.Sprintf("%x", h[:8]) != "5342580304010202" {
		t.Errorf("the hello begins with %x", h[:8])
	}
}

// TestTheOwnerKnowsOfEachKeptConnection: before the answer to the first call; single-call connections are not reported.
func TestTheOwnerKnowsOfEachKeptConnection(t *testing.T) {
	var kept atomic.Int64
	e := newEndpoint(t, answering(echo))
	from := newDialer(t, e, func(c *Config) {
		c.Kept = func(to shard.HostID) {
			if to != 1 {
				t.Errorf("a connection to host %d is kept", to)
			}
			kept.Add(1)
		}
	})
	mustCall(t, from.Transport, strings.Repeat("x", maxKeptBytes+1))
	for range 3 {
		mustCall(t, from.Transport, "call")
	}
	if n := kept.Load(); n != 1 {
		t.Errorf("%d kept connections were made, want 1", n)
	}
	from.SetSecret(testSecret)
	from.SetSecret(nil)
	mustCall(t, from.Transport, "after the end of the connection")
	if n := kept.Load(); n != 2 {
		t.Errorf("%d kept connections were made, want 2", n)
	}
}

func BenchmarkCall(b *testing.B) {
	for name, purpose := range map[string]bool{"kept": true, "a connection each": false} {
		b.Run(name, func(b *testing.B) {
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				b.Fatal(err)
			}
			at := Host{ID: 1, Name: "one", Incarnation: one.Incarnation, Address: listener.Addr().String()}
			to := Open(Config{Identity: identityOf(one), Listener: listener, Answer: echo, Secret: testSecret,
				Hosts: []Host{{ID: 2, Name: "two", Incarnation: two.Incarnation, Address: noAddress}}})
			defer to.Close()
			from := Open(Config{Identity: identityOf(two), Hosts: []Host{at}, Secret: testSecret})
			defer from.Close()
			b.ReportAllocs()
			for b.Loop() {
				var err error
				if purpose {
					_, err = from.Call(b.Context(), 1, []byte("a request"))
				} else {
					_, err = from.callAnew(b.Context(), at, false, []byte("a request"))
				}
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
