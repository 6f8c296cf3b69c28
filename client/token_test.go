package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/protocol"
)

// Callers read their answers only over TCP, so these tests use a fake behind sockets, in real time.

// socketStage is a fake reached over TCP.
type socketStage struct{ *fakeCluster }

func (s socketStage) dial(ctx context.Context, address string) (net.Conn, error) {
	inside, err := s.fakeCluster.dial(ctx, address)
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	defer l.Close()
	outside, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		return nil, err
	}
	between, err := l.Accept()
	if err != nil {
		return nil, err
	}
	pump := func(to, from net.Conn) {
		_, _ = io.Copy(to, from)
		_ = to.Close()
		_ = from.Close()
	}
	go pump(inside, between)
	go pump(between, inside)
	return outside, nil
}

func playOverSockets(t *testing.T, f func(t *testing.T, st socketStage, c *client.Client)) {
	t.Helper()
	playInRealTime(t, socketStage{newFakeCluster(t, 1, 1)}, f)
}

// lendToken uses the semaphore until a caller has read its own answer, so no goroutine reads at the moment.
func lendToken(t *testing.T, c *client.Client, sem *client.Semaphore) {
	t.Helper()
	before := c.Lent()
	eventually(t, 0, "a caller reads by itself", func() bool {
		check(t, acquire(t, sem).Release(t.Context()))
		return c.Lent() > before
	})
}

func TestACallerThatReadsNoticesTheEndOfItsContext(t *testing.T) {
	playOverSockets(t, func(t *testing.T, st socketStage, c *client.Client) {
		sem := session(t, c).Semaphore(name, client.Limit(1))
		byThemselves := 0 // on a busy machine the reader may be faster
		for range 20 {
			lendToken(t, c, sem)
			before := c.Lent()
			st.once(protocol.KindAcquire, fault{silent: true})
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
			began := time.Now()
			_, err := sem.Acquire(ctx)
			cancel()
			if !errors.Is(err, context.DeadlineExceeded) || time.Since(began) > realPatience {
				t.Fatalf("%v after %v", err, time.Since(began))
			}
			if c.Lent() > before {
				byThemselves++
			}
			st.cut() // given-up requests wait another way
		}
		if byThemselves == 0 {
			t.Error("nobody read by himself")
		}
	})
}

func TestASessionLearnsOfItsEndWhileTheTokenIsLent(t *testing.T) {
	playOverSockets(t, func(t *testing.T, st socketStage, c *client.Client) {
		operator := open(t, st)
		for range 20 {
			s := session(t, c)
			lendToken(t, c, s.Semaphore(name, client.Limit(1)))
			check(t, operator.DestroySession(t.Context(), s.ID()))
			select {
			case <-s.Context().Done():
			case <-time.After(realPatience):
				t.Fatal("it is not reported")
			}
		}
	})
}

func TestABrokenConnectionIsNoticedWhileTheTokenIsLent(t *testing.T) {
	playOverSockets(t, func(t *testing.T, st socketStage, c *client.Client) {
		var states stateLog
		s := session(t, c, states.option())
		lendToken(t, c, s.Semaphore(name, client.Limit(1)))
		st.cut()
		states.is(t, client.Attached, client.Detached, client.Attached)
	})
}

// TestAGrantComesWhileOthersRead: a waiting acquire gets its grant, no matter which callers read and leave.
func TestAGrantComesWhileOthersRead(t *testing.T) {
	playOverSockets(t, func(t *testing.T, _ socketStage, c *client.Client) {
		sem := session(t, c).Semaphore(name, client.Limit(1))
		lendToken(t, c, sem)
		for range 50 {
			lease := acquire(t, sem)
			waiting := acquiring(t, t.Context(), session(t, c).Semaphore(name))
			check(t, lease.Release(t.Context()))
			r := <-waiting
			check(t, r.err)
			check(t, r.lease.Release(t.Context()))
		}
	})
}

// TestTheTokenPassesFromCallerToCaller: callers come one at a time, together, and in between; some give up, and now and
// then a loop watches.
func TestTheTokenPassesFromCallerToCaller(t *testing.T) {
	playOverSockets(t, func(t *testing.T, _ socketStage, c *client.Client) {
		var all sync.WaitGroup
		ctx := t.Context()
		for i := range 4 {
			sem := session(t, c).Semaphore(fmt.Sprint(name, i), client.Limit(1))
			random := rand.New(rand.NewPCG(7, uint64(i)))
			all.Go(func() {
				for range 300 {
					lease, err := sem.Acquire(ctx)
					if err == nil && random.IntN(3) == 0 {
						hurried, stop := context.WithTimeout(ctx, time.Duration(random.IntN(300))*time.Microsecond)
						_, _ = sem.Describe(hurried)
						stop()
					}
					if err == nil {
						err = lease.Release(ctx)
					}
					if err != nil {
						t.Error(err)
						return
					}
					time.Sleep(time.Duration(random.IntN(3000)) * time.Microsecond)
				}
			})
		}
		all.Go(func() {
			for range 20 {
				for _, err := range c.Node(path).Watch(ctx, name+"0") {
					if err != nil {
						t.Error(err)
					}
					break
				}
				time.Sleep(20 * time.Millisecond)
			}
		})
		all.Wait()
		if c.Lent() == 0 {
			t.Error("nobody read by itself")
		}
	})
}
