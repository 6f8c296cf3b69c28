package client_test

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/meta"
)

// others answers n numbered changes of another client.
func (f *fakeCluster) others(n int) {
	for range n {
		next := f.metaMachine.NextAnswer()
		f.applyMeta(meta.Command{
			Kind: meta.CmdNodeDrop, Path: "/none",
			Numbered: meta.Numbered{Client: meta.ClientID{255}, Number: next, Since: next},
		})
	}
}

// between calls do between a request's first try, with a lost answer, and its second try.
func (f *fakeCluster) between(k protocol.Kind, do func()) {
	tries := 0
	f.on(func(_ *fakeHost, r *protocol.Request) fault {
		if r.Kind != k {
			return fault{}
		}
		if tries++; tries == 1 {
			return lostAfter
		} else if tries == 2 {
			do()
		}
		return fault{}
	})
}

func TestAChangeOfANodeWhoseAnswerIsLostIsAnsweredAsItWas(t *testing.T) {
	playFake(t, 1, 1, func(t *testing.T, fake *fakeCluster, c *client.Client) {
		fake.once(protocol.KindNodeCreate, lostAfter)
		n, err := c.CreateNode(t.Context(), "/new", client.NodeConfig{SelfCheckPeriod: 2 * time.Second})
		if err != nil || n.Existed || n.ConfigVersion != 1 {
			t.Errorf("create: %+v, %v", n, err)
		}
		fake.once(protocol.KindNodeAlter, lostAfter)
		n, err = c.AlterNode(t.Context(), "/new", client.NodeConfig{SelfCheckPeriod: 3 * time.Second},
			client.IfConfigRevision(1))
		if err != nil || n.ConfigVersion != 2 {
			t.Errorf("alter: %+v, %v", n, err)
		}
		// Another client's change in between stays.
		fake.between(protocol.KindNodeAlter, func() {
			fake.applyMeta(meta.Command{
				Kind: meta.CmdNodeAlter, Path: "/new", Config: meta.Config{SelfCheckPeriodMillis: 5000},
			})
		})
		n, err = c.AlterNode(t.Context(), "/new", client.NodeConfig{SelfCheckPeriod: 4 * time.Second})
		if err != nil || n.ConfigVersion != 3 || n.Config.SelfCheckPeriod != 4*time.Second {
			t.Errorf("alter without a version: %+v, %v", n, err)
		}
		fake.between(protocol.KindNodeCreate, func() {
			fake.applyMeta(meta.Command{Kind: meta.CmdNodeDrop, Path: "/other"})
		})
		if n, err = c.CreateNode(t.Context(), "/other", client.NodeConfig{}); err != nil || n.Existed {
			t.Errorf("create of what was dropped: %+v, %v", n, err)
		}
		if _, err := c.DescribeNode(t.Context(), "/other"); !errors.Is(err, client.ErrNodeNotFound) {
			t.Errorf("it was created again: %v", err)
		}
		fake.between(protocol.KindNodeDrop, func() {
			fake.applyMeta(meta.Command{Kind: meta.CmdNodeCreate, Path: "/new"})
		})
		check(t, c.DropNode(t.Context(), "/new"))
		n, err = c.DescribeNode(t.Context(), "/new")
		if err != nil || n.ConfigVersion != 1 {
			t.Errorf("the node that came after: %+v, %v", n, err)
		}
	})
}

func TestAStaleFirstTryIsSentUnderANewNumber(t *testing.T) {
	playFake(t, 1, 1, func(t *testing.T, fake *fakeCluster, c *client.Client) {
		fake.do(func() { fake.others(meta.MaxAnswers + 1) })
		before := fake.count(protocol.KindNodeCreate)
		n, err := c.CreateNode(t.Context(), "/new", client.NodeConfig{})
		if err != nil || n.Existed {
			t.Errorf("%+v, %v", n, err)
		}
		if n := fake.count(protocol.KindNodeCreate) - before; n != 2 {
			t.Errorf("sent %d times", n)
		}
	})
}

func TestAStaleRepetitionHasAnUnknownOutcome(t *testing.T) {
	playFake(t, 1, 1, func(t *testing.T, fake *fakeCluster, c *client.Client) {
		fake.between(protocol.KindNodeAlter, func() { fake.others(meta.MaxAnswers) })
		_, err := c.AlterNode(t.Context(), path, client.NodeConfig{SelfCheckPeriod: 2 * time.Second})
		if !errors.Is(err, client.ErrUnavailable) {
			t.Errorf("got %v", err)
		}
		if n := fake.count(protocol.KindNodeAlter); n != 2 {
			t.Errorf("sent %d times", n)
		}
		n, err := c.DescribeNode(t.Context(), path)
		if err != nil || n.ConfigVersion != 2 {
			t.Errorf("%+v, %v", n, err)
		}
	})
}

// answerLoss loses answers on their way: when an answer of an armed kind arrives, its function runs, the answer is
// dropped, and the connection breaks.
type answerLoss struct {
	mu   sync.Mutex
	kind protocol.Kind
	then func()
	lost int
}

func (l *answerLoss) arm(k protocol.Kind, then func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.kind, l.then = k.Answer(), then
}

// take returns the function for an arrived answer of the kind, or nil to pass the answer on.
func (l *answerLoss) take(k protocol.Kind) func() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if k != l.kind {
		return nil
	}
	then := l.then
	l.lost++
	l.kind, l.then = 0, nil
	return then
}

func (l *answerLoss) dialer(dial client.DialFunc) client.DialFunc {
	return func(ctx context.Context, address string) (net.Conn, error) {
		conn, err := dial(ctx, address)
		if err != nil {
			return nil, err
		}
		return &lossyConn{Conn: conn, loss: l}, nil
	}
}

// lossyConn passes on frames one by one.
type lossyConn struct {
	net.Conn
	loss *answerLoss
	left []byte // rest of a frame being passed on
}

func (c *lossyConn) Read(p []byte) (int, error) {
	if len(c.left) == 0 {
		frame := make([]byte, protocol.FrameHeaderBytes)
		if _, err := io.ReadFull(c.Conn, frame); err != nil {
			return 0, err
		}
		size := int(frame[0])<<24 | int(frame[1])<<16 | int(frame[2])<<8 | int(frame[3])
		frame = append(frame, make([]byte, size)...)
		if _, err := io.ReadFull(c.Conn, frame[protocol.FrameHeaderBytes:]); err != nil {
			return 0, err
		}
		a, err := protocol.NewAnswerDecoder().Decode(frame[protocol.FrameHeaderBytes:])
		if err != nil {
			return 0, err
		}
		if then := c.loss.take(a.Kind); then != nil {
			then()
			_ = c.Close()
			return 0, io.ErrUnexpectedEOF
		}
		c.left = frame
	}
	n := copy(p, c.left)
	c.left = c.left[n:]
	return n, nil
}

// TestNodesChangeOnceThoughTheLeaderDiesBeforeItAnswers has three real hosts. Each change is committed, and its answer
// is lost: with the connection, or with the meta shard's leader.
func TestNodesChangeOnceThoughTheLeaderDiesBeforeItAnswers(t *testing.T) {
	playOn(t, func(t *testing.T) *serverStage { return newServerStage(t, 3, 1) },
		func(t *testing.T, st *serverStage, _ *client.Client) {
			for _, lost := range []struct {
				name string
				then func()
			}{
				{"/connection", func() {}},
				{"/leader", func() {
					leader := st.cluster.Leader(0)
					st.cluster.Net().Kill(leader)
					go st.cluster.Crash(leader, true)
				}},
			} {
				loss := &answerLoss{}
				c, err := client.Open(t.Context(), st.addresses(), client.WithDialer(loss.dialer(st.dial)))
				check(t, err)
				changeNodeOnce(t, c, lost.name, func(k protocol.Kind) { loss.arm(k, lost.then) }, func() {
					for id := range shard.HostID(3) {
						st.bring(int(id))
					}
				})
				check(t, c.Close())
				if loss.lost != 3 {
					t.Errorf("%s: %d answers were lost", lost.name, loss.lost)
				}
			}
		})
}

// changeNodeOnce creates, alters and drops a node; the answer to each change is lost.
func changeNodeOnce(t *testing.T, c *client.Client, path string, lose func(protocol.Kind), heal func()) {
	t.Helper()
	ctx := t.Context()
	check(t, second(c.CreateNode(ctx, path+"/first", client.NodeConfig{}))) // the leader's answer has arrived
	lose(protocol.KindNodeCreate)
	n, err := c.CreateNode(ctx, path, client.NodeConfig{SelfCheckPeriod: time.Second})
	if err != nil || n.Existed || n.ConfigVersion != 1 {
		t.Fatalf("create %s: %+v, %v", path, n, err)
	}
	heal()
	lose(protocol.KindNodeAlter)
	n, err = c.AlterNode(ctx, path, client.NodeConfig{SelfCheckPeriod: 2 * time.Second}, client.IfConfigRevision(1))
	if err != nil || n.ConfigVersion != 2 {
		t.Fatalf("alter %s: %+v, %v", path, n, err)
	}
	heal()
	lose(protocol.KindNodeDrop)
	check(t, c.DropNode(ctx, path))
	heal()
	again, err := c.CreateNode(ctx, path, client.NodeConfig{})
	if err != nil || again.Existed || again.ID != n.ID+1 {
		t.Errorf("create %s again: %+v, %v", path, again, err)
	}
}
