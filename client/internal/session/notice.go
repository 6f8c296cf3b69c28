package session

import (
	"context"

	"github.com/signalbox/signalbox/client/internal/cluster"
	"github.com/signalbox/signalbox/client/internal/conn"
	"github.com/signalbox/signalbox/protocol"
)

// notice is a one-shot watch, from the description to the first change report.
type notice struct {
	in      *Incarnation
	read    func(a *protocol.SemaphoreDescribeAnswer)
	changed func(data, owners bool)
	done    chan error // for the description; capacity 1

	// Guarded by the incarnation's lock.
	conn      *conn.Conn
	id        uint64
	armed     bool // the host has the watch
	abandoned bool // no caller waits for the description
	notified  bool
}

// DescribeAndWatch describes a semaphore and sets a one-shot watch, over a connection that the session may use. read
// gets the response, in the goroutine that reads the connection and with the lock held. changed is called once.
func (in *Incarnation) DescribeAndWatch(
	ctx context.Context, m *protocol.SemaphoreDescribe, read func(a *protocol.SemaphoreDescribeAnswer),
	changed func(data, owners bool),
) error {
	if err := in.group.scope.Usable(); err != nil {
		return err
	}
	m.SessionID = in.id
	return in.repeat(ctx, func(tried cluster.Tried) (*conn.Conn, *cluster.Host, error) {
		to, h, err := in.connTo(ctx, string(m.Name), tried)
		if err != nil {
			return to, h, err
		}
		n := &notice{in: in, read: read, changed: changed, conn: to, done: make(chan error, 1)}
		return to, h, n.describe(ctx, m)
	})
}

func (n *notice) describe(ctx context.Context, m *protocol.SemaphoreDescribe) error {
	n.in.group.cluster.Name(m)
	n.in.mu.Lock()
	id, err := n.conn.Send(n, m)
	n.id = id
	n.in.mu.Unlock()
	if err != nil {
		return err
	}
	select {
	case err := <-n.done:
		return err
	case <-ctx.Done():
	}
	n.conn.Forget(id)
	n.in.mu.Lock()
	defer n.in.mu.Unlock()
	n.abandoned = true
	delete(n.in.notices, n)
	return context.Cause(ctx)
}

// Answered implements conn.Handler.
func (n *notice) Answered(_ *conn.Conn, a *protocol.Answer) {
	in := n.in
	in.mu.Lock()
	defer in.mu.Unlock()
	if a.Kind == protocol.KindWatchChanged {
		in.notify(n, a.WatchChanged.Data, a.WatchChanged.Owners)
		return
	}
	if n.abandoned {
		return
	}
	if err := a.Result.Err(); err != nil {
		n.done <- err
		return
	}
	n.read(&a.SemaphoreDescribe)
	n.armed = true
	if in.notices == nil {
		in.notices = make(map[*notice]struct{})
	}
	in.notices[n] = struct{}{}
	n.done <- nil
	if in.cause != nil {
		in.notify(n, false, false)
	}
}

// Lost implements conn.Handler.
func (n *notice) Lost(_ *conn.Conn, err error) {
	in := n.in
	in.mu.Lock()
	defer in.mu.Unlock()
	if n.armed {
		in.notify(n, false, false)
	} else if !n.abandoned {
		n.done <- err
	}
}

// notify reports a change to a one-shot watch, once. The lock is held.
func (in *Incarnation) notify(n *notice, data, owners bool) {
	delete(in.notices, n)
	if n.notified || n.abandoned || !n.armed {
		return
	}
	n.notified = true
	n.conn.Forget(n.id)
	go n.changed(data, owners)
}
