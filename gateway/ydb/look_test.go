package ydb_test

import (
	"context"
	"encoding/binary"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/valyala/bytebufferpool"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"

	"github.com/signalbox/signalbox/protocol"
)

// pushed adds pushes to the hosts' data for a gateway.
type pushed struct {
	mu    sync.Mutex
	conns []*pushedConn
}

// push adds a push to every connection, sent with the host's next message.
func (p *pushed) push(m protocol.PushMessage) {
	var buf bytebufferpool.ByteBuffer
	protocol.NewEncoder().Push(&buf, 0, m)
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.conns {
		c.added = append(c.added, buf.B...)
	}
}

// dial wraps a dialer.
func (p *pushed) dial(
	dial func(context.Context, string) (net.Conn, error),
) func(context.Context, string) (net.Conn, error) {
	return func(ctx context.Context, address string) (net.Conn, error) {
		c, err := dial(ctx, address)
		if err != nil {
			return nil, err
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		p.conns = append(p.conns, &pushedConn{Conn: c, of: p})
		return p.conns[len(p.conns)-1], nil
	}
}

// pushedConn reads whole frames, after the added ones.
type pushedConn struct {
	net.Conn
	of    *pushed
	added []byte // guarded by the lock of pushed
	ready []byte // read, and not returned
	part  []byte // of an incomplete frame
}

// Read implements net.Conn.
func (c *pushedConn) Read(to []byte) (int, error) {
	for len(c.ready) == 0 {
		chunk := make([]byte, 64<<10)
		n, err := c.Conn.Read(chunk)
		if err != nil {
			return 0, err
		}
		c.part = append(c.part, chunk[:n]...)
		for len(c.part) >= 4 {
			size := 4 + int(binary.BigEndian.Uint32(c.part))
			if len(c.part) < size {
				break
			}
			c.ready, c.part = append(c.ready, c.part[:size]...), c.part[size:]
			c.of.mu.Lock()
			c.ready, c.added = append(c.ready, c.added...), nil
			c.of.mu.Unlock()
		}
	}
	n := copy(to, c.ready)
	c.ready = c.ready[n:]
	return n, nil
}

// TestASessionThatMayHaveLostALockIsEnded: a shard was recreated, and hosts ask clients to check their locks. In YDB's
// protocol a lock is lost only with its session. A session without acquires lives on.
func TestASessionThatMayHaveLostALockIsEnded(t *testing.T) {
	p := &pushed{}
	r := newRigOf(t)
	r.through = p.dial
	r.serve()
	r.create()
	owner := r.session(start{key: "key", timeout: time.Minute})
	owner.acquired(owner.acquire("lock", 1, 0, true), true, Ydb.StatusIds_SUCCESS)
	before := r.session(start{key: "key", timeout: time.Minute})
	before.acquired(before.acquire("other", 1, 0, true), true, Ydb.StatusIds_SUCCESS)
	back := r.session(start{session: before.id, sequence: 1, key: "key", timeout: time.Minute})
	before.fails(Ydb.StatusIds_BAD_SESSION)
	idle := r.session(start{key: "key", timeout: time.Minute})
	for _, c := range []*caller{owner, back, idle} {
		p.push(&protocol.HoldingLost{SessionID: c.id})
	}
	idle.describe("lock", false) // the host's answer brings the pushes
	owner.fails(Ydb.StatusIds_SESSION_EXPIRED)
	back.fails(Ydb.StatusIds_SESSION_EXPIRED)
	r.awaitSessions(idle.id)
}
