package client_test

import (
	"context"
	"encoding/binary"
	"errors"
	"testing"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/protocol"
)

// later is a request of the second block of kinds.
type later struct{ *protocol.Routing }

func (later) Kind() protocol.Kind { return 191 }

// TestARequestThatTheHostDidNotAnnounceIsNotSent: a host without the second block would close the connection over the
// request. It announces no such kinds, so the client refuses the request itself and keeps the connection.
func TestARequestThatTheHostDidNotAnnounceIsNotSent(t *testing.T) {
	playFake(t, 1, 1, func(t *testing.T, fake *fakeCluster, c *client.Client) {
		var states stateLog
		lease := acquire(t, session(t, c, states.option()).Semaphore(name, client.Limit(1)))
		if err := c.Ask(context.Background(), later{&protocol.Routing{}}); !errors.Is(err, client.ErrUnsupported) {
			t.Errorf("got %v, want ErrUnsupported", err)
		}
		if n := fake.count(later{}.Kind()); n != 0 {
			t.Errorf("%d requests of an unknown kind were sent", n)
		}
		time.Sleep(time.Second)
		states.is(t, client.Attached)
		check(t, lease.Err())
	})
}

func TestARequestThatTheHostAnnouncedIsSent(t *testing.T) {
	playFake(t, 1, 1, func(t *testing.T, fake *fakeCluster, c *client.Client) {
		fake.do(func() {
			fake.welcome.RequestKinds.Append(protocol.KindNumber(later{}.Kind()))
			fake.hosts[0].cutAll() // so that the client gets a WELCOME with the announcement
		})
		var states stateLog
		session(t, c, states.option())
		// The host refuses the request after all, and the client reads the refusal.
		if err := c.Ask(context.Background(), later{&protocol.Routing{}}); !errors.Is(err, client.ErrUnsupported) {
			t.Errorf("got %v, want ErrUnsupported", err)
		}
		if n := fake.count(later{}.Kind()); n != 1 {
			t.Errorf("%d requests were sent, want 1", n)
		}
		states.is(t, client.Attached)
	})
}

// TestAnAnswerOfAnUnknownKindEndsTheConnection: a request with an answer of unknown kind has an unknown outcome, and
// must not wait for ever.
func TestAnAnswerOfAnUnknownKindEndsTheConnection(t *testing.T) {
	playFake(t, 1, 1, func(t *testing.T, fake *fakeCluster, c *client.Client) {
		var states stateLog
		sem := session(t, c, states.option()).Semaphore(name, client.Limit(1))
		confused := false
		fake.on(func(h *fakeHost, r *protocol.Request) fault {
			if r.Kind != protocol.KindAcquire || confused {
				return fault{}
			}
			confused = true
			// Kind 255 with SUCCESS, for the acquire.
			frame := binary.BigEndian.AppendUint64([]byte{0, 0, 0, 14, 0x94, 0xcc, 255, 0xcf}, r.ID)
			for conn := range h.conns {
				conn.out.B = append(append(conn.out.B, frame...), 0, 0x90)
				conn.flush()
			}
			return fault{ignore: true}
		})
		lease := acquire(t, sem)
		states.is(t, client.Attached, client.Detached, client.Attached)
		check(t, lease.Err())
	})
}
