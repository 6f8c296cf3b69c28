package server_test

import (
	"bytes"
	"log/slog"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server"
	"github.com/signalbox/signalbox/server/caller"
	"github.com/signalbox/signalbox/server/servertest"
)

// logbook is a log that a test reads while a host writes.
type logbook struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logbook) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

// lines are the lines containing a text.
func (l *logbook) lines(with string) (found []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range strings.Lines(l.text.String()) {
		if strings.Contains(line, with) {
			found = append(found, line)
		}
	}
	return found
}

func (l *logbook) option() servertest.Option {
	return servertest.Log(slog.New(slog.NewTextHandler(l, nil)))
}

const endedClient = "closed a client connection"

// picky accepts one token, and revokes the token on the test's request.
type picky struct{ revocable }

func (p *picky) Authenticate(token []byte) (caller.Rights, string, bool) {
	return p, "billing", string(token) == "good"
}

func TestTheLogAndTheMetricsSayWhyAHostEndsConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log logbook
		keeper := &picky{}
		c := servertest.Start(t, log.option(), servertest.Config(func(c *server.Config) { c.Access = keeper }))
		hello := func(min uint64, token string) *speaker {
			s := unauthenticated(t, c)
			s.say(&protocol.Hello{VersionMin: min, VersionMax: min, Token: []byte(token)})
			return s
		}
		for _, x := range []struct {
			reason, why string
			client      bool // known by name
			do          func() *speaker
		}{
			{"bad_request", "frame", false, func() *speaker {
				s := unauthenticated(t, c)
				if _, err := s.conn.Write([]byte{0x7f, 0xff, 0xff, 0xff}); err != nil {
					t.Fatal(err)
				}
				return s
			}},
			{"bad_request", "must be a HELLO", false, func() *speaker {
				s := unauthenticated(t, c)
				s.say(&protocol.Ping{})
				return s
			}},
			{"unsupported", "version", false, func() *speaker { return hello(1000, "good") }},
			{"unauthorized", "unknown token", false, func() *speaker { return hello(1, "bad") }},
			{"handshake_timeout", "no HELLO", false, func() *speaker { return unauthenticated(t, c) }},
			{"heartbeat_timeout", "silent", true, func() *speaker { return hello(1, "good") }},
			{"slow_reader", "slowly", true, func() *speaker {
				s := hello(1, "good")
				describe := large(s, protocol.ConsistencyStrict)
				many := make([]protocol.RequestMessage, 3000)
				for i := range many {
					many[i] = describe
				}
				c.Pause(1) // so that no answer is sent before all requests are read, and no request is refused
				s.burst(many...)
				synctest.Wait()
				c.Resume(1)
				synctest.Wait()
				return s
			}},
			{"unauthorized", "no longer valid", true, func() *speaker {
				s := hello(1, "good")
				keeper.revoked.Store(true)
				return s
			}},
		} {
			series := `signalbox_connections_closed_total{reason="` + x.reason + `"}`
			before, logged := metric(t, c, series), len(log.lines(endedClient))
			x.do().closed(time.Minute)
			want(t, x.reason+": counted", metric(t, c, series), before+1)
			lines := log.lines(endedClient)[logged:]
			if len(lines) != 1 {
				t.Fatalf("%s: %d lines in the log: %q", x.reason, len(lines), lines)
			}
			for _, part := range []string{"reason=" + x.reason, x.why, "remote_address="} {
				if !strings.Contains(lines[0], part) {
					t.Errorf("%s: the log does not say %q: %s", x.reason, part, lines[0])
				}
			}
			if named := strings.Contains(lines[0], "client=billing"); named != x.client {
				t.Errorf("%s: the client is named: %v: %s", x.reason, named, lines[0])
			}
		}
	})
}

func TestManyHostileClientsDoNotFillTheLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log logbook
		c := servertest.Start(t, log.option())
		hostile := func() {
			s := unauthenticated(t, c)
			if _, err := s.conn.Write([]byte{0, 0, 0, 0}); err != nil {
				t.Fatal(err)
			}
			s.closed(5 * time.Second)
		}
		const clients = 100
		for range clients {
			hostile()
		}
		want(t, "counted", metric(t, c, `signalbox_connections_closed_total{reason="bad_request"}`), clients)
		first := len(log.lines(endedClient))
		if first == 0 || first > 10 {
			t.Fatalf("%d lines for %d clients in a moment", first, clients)
		}
		time.Sleep(2 * time.Second)
		hostile()
		lines := log.lines(endedClient)[first:]
		if len(lines) != 1 {
			t.Fatalf("%d lines for one client later", len(lines))
		}
		left := regexp.MustCompile(`unlogged=(\d+)`).FindStringSubmatch(lines[0])
		if left == nil {
			t.Fatalf("it does not say how many are not in the log: %s", lines[0])
		}
		want(t, "not in the log", left[1], string(name("%d", clients-first)))
	})
}
