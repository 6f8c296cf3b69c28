package client_test

import (
	"errors"
	"net"
	"slices"
	"sync/atomic"
	"time"

	"github.com/valyala/bytebufferpool"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
)

// fakeConn is the host's side of a connection.
type fakeConn struct {
	host    *fakeHost
	conn    net.Conn
	encoder *protocol.Encoder
	out     bytebufferpool.ByteBuffer
	more    chan struct{}
	gone    chan struct{}
	closed  bool
	left    atomic.Bool // the client has closed it
	heard   time.Time
	stalls  int  // while above 0 nothing is sent
	silent  bool // answers are not sent
	// lastID and open serve the checks of client rules.
	lastID uint64
	open   map[uint64]openMutation // by request id
	// sessions that may act over the connection; true for sessions attached over it.
	sessions map[uint64]bool
}

func (h *fakeHost) serve(conn net.Conn) *fakeConn {
	c := &fakeConn{
		host: h, conn: conn, encoder: protocol.NewEncoder(), more: make(chan struct{}, 1), gone: make(chan struct{}),
		sessions: make(map[uint64]bool), heard: time.Now(), open: make(map[uint64]openMutation),
	}
	h.conns[c] = struct{}{}
	go c.read()
	go c.write()
	return c
}

func (c *fakeConn) read() {
	f := c.host.cluster
	decoder := protocol.NewRequestDecoder(protocol.MaxDataBytes)
	var buf []byte
	chunk := make([]byte, 4096)
	for {
		payload, size, err := protocol.ScanFrame(buf, 2<<20)
		if err != nil {
			panic(err)
		}
		if payload == nil {
			n, err := c.conn.Read(chunk)
			if err != nil {
				f.do(c.close)
				return
			}
			buf = append(buf, chunk[:n]...)
			continue
		}
		r, err := decoder.Decode(payload)
		var bad *protocol.DecodeError
		switch {
		case err == nil:
			f.do(func() { c.take(r) })
		case errors.As(err, &bad) && c.host.cluster.answersUnknown(bad):
			f.do(func() {
				f.seen = append(f.seen, bad.Kind)
				result := bad.Result()
				c.fail(bad.ID, bad.Kind, &result)
			})
		default:
			panic(err)
		}
		buf = slices.Clone(buf[size:])
	}
}

// answersUnknown reports whether the hosts answer an unknown request with a refusal. Hosts that know the second block
// of kinds do; older hosts take the frame for a malformed message.
func (f *fakeCluster) answersUnknown(bad *protocol.DecodeError) bool {
	return bad.Answerable() && (bad.Kind < 128 || f.welcome.RequestKinds.Len() > 0)
}

func (c *fakeConn) write() {
	f := c.host.cluster
	for {
		select {
		case <-c.more:
		case <-c.gone:
			return
		}
		var b []byte
		f.do(func() {
			if c.stalls == 0 {
				b = slices.Clone(c.out.B)
				c.out.Reset()
			}
		})
		if len(b) > 0 {
			if _, err := c.conn.Write(b); err != nil {
				return
			}
		}
	}
}

// close ends the connection. The lock is held, here and below.
func (c *fakeConn) close() {
	if c.closed {
		return
	}
	c.closed = true
	close(c.gone)
	_ = c.conn.Close()
	delete(c.host.conns, c)
	f := c.host.cluster
	for _, s := range f.shards {
		s.forgetConn(c)
	}
	for id := range c.sessions {
		f.sessions[id].leave(c)
	}
}

func (c *fakeConn) flush() {
	select {
	case c.more <- struct{}{}:
	default:
	}
}

func (c *fakeConn) answer(id uint64, m protocol.AnswerMessage) {
	if !c.closed && !c.silent {
		if m, ok := c.open[id]; ok {
			c.host.cluster.answered[m] = true
		}
		delete(c.open, id)
		c.encoder.Answer(&c.out, id, m)
		c.flush()
	}
}

func (c *fakeConn) fail(id uint64, kind protocol.Kind, r *protocol.Result) {
	if !c.closed && !c.silent {
		delete(c.open, id)
		c.encoder.Failure(&c.out, id, kind, r)
		c.flush()
	}
}

func (c *fakeConn) refuse(r *protocol.Request, s protocol.Status) {
	c.fail(r.ID, r.Kind, &protocol.Result{Status: s})
}

func (c *fakeConn) push(id uint64, m protocol.PushMessage) {
	if !c.closed && !c.host.mute {
		c.encoder.Push(&c.out, id, m)
		c.flush()
	}
}

// take handles one request, with its fault.
func (c *fakeConn) take(r *protocol.Request) {
	f := c.host.cluster
	if c.closed || c.host.mute {
		return
	}
	var x fault
	if f.fault != nil {
		x = f.fault(c.host, r)
	}
	c.checkOrder(r)
	if x.ignore {
		if x.cut {
			c.close()
		}
		return
	}
	f.seen = append(f.seen, r.Kind)
	c.heard = time.Now()
	if x.refuse == nil || x.after {
		c.silent = x.silent || x.after
		c.dispatch(r)
		c.silent = false
	}
	if x.refuse != nil {
		c.fail(r.ID, r.Kind, x.refuse)
	}
	if x.delay > 0 {
		c.stalls++
		time.AfterFunc(x.delay, func() {
			f.do(func() {
				c.stalls--
				c.flush()
			})
		})
	}
	if x.cut {
		c.close()
	}
}

func (c *fakeConn) dispatch(r *protocol.Request) {
	f := c.host.cluster
	switch r.Kind {
	case protocol.KindHello:
		if string(r.Hello.Token) != f.token {
			c.refuse(r, protocol.StatusUnauthorized)
			return
		}
		w := f.welcome
		w.HostID, w.HostName, w.ClusterID, w.RoutingVersion = c.host.id, []byte(c.host.address), []byte(f.id), f.version
		w.Since = f.metaMachine.NextAnswer()
		c.answer(r.ID, &w)
	case protocol.KindPing:
		c.answer(r.ID, &protocol.Pong{})
	case protocol.KindRouting:
		c.answer(r.ID, f.routing())
	case protocol.KindHostStatus:
		c.answer(r.ID, &protocol.HostStatusAnswer{HostID: c.host.id, HostName: []byte(c.host.address), Fresh: true,
			Connections: uint64(len(c.host.conns))})
	case protocol.KindNodeCreate, protocol.KindNodeDescribe, protocol.KindNodeAlter, protocol.KindNodeDrop,
		protocol.KindNodeList:
		c.node(r)
	case protocol.KindSessionStart:
		c.sessionStart(r)
	case protocol.KindSessionAttach:
		c.sessionAttach(r)
	case protocol.KindSessionBind:
		c.sessionBind(r)
	case protocol.KindSessionStop, protocol.KindSessionDestroy:
		c.sessionEnd(r)
	case protocol.KindSessionDescribe, protocol.KindSessionList, protocol.KindSessionHoldings,
		protocol.KindSemaphoreList, protocol.KindSemaphoreDescribe:
		c.readShard(r)
	case protocol.KindSemaphoreCreate, protocol.KindSemaphoreUpdate, protocol.KindSemaphoreResize,
		protocol.KindSemaphoreDelete, protocol.KindAcquire, protocol.KindRelease:
		c.mutate(r)
	case protocol.KindWatch:
		m := &r.Watch
		f.shardOf(shard.SlotOf(shard.NodeID(m.NodeID), m.Name)).watch(c, r.ID, m)
	case protocol.KindWatchStop:
		for _, s := range f.shards {
			s.dropWatch(c, r.WatchStop.WatchID)
		}
		c.answer(r.ID, &protocol.WatchStopAnswer{})
	default:
		c.refuse(r, protocol.StatusUnsupported)
	}
}
