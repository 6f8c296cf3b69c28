package session

import (
	"context"

	"github.com/signalbox/signalbox/client/internal/cluster"
	"github.com/signalbox/signalbox/client/internal/conn"
	"github.com/signalbox/signalbox/client/internal/failure"
	"github.com/signalbox/signalbox/client/internal/lifecycle"
	"github.com/signalbox/signalbox/client/internal/retry"
	"github.com/signalbox/signalbox/protocol"
)

// InboxReader gets the items in a member's inbox. The methods are called by goroutines that read connections, with no
// lock held, and must not block.
type InboxReader interface {
	// Received returns the reader's last seq.
	Received() uint64
	// Take gets items, which are only valid during the call. Items from earlier calls may be repeated.
	Take(items *protocol.Items)
	// Removed is called once, when a host reports that the membership has ended.
	Removed(why error)
}

// Inbox is one process member's inbox; the session is the member. The inbox is opened at the leader of the process's
// shard, and opened again whenever the opening has ended. An open inbox has no goroutine.
type Inbox struct {
	in     *Incarnation
	name   string
	reader InboxReader

	// Guarded by the incarnation's lock.
	member  uint64     // 0 until the first Open
	conn    *conn.Conn // for the current or pending opening; nil if none
	opening bool       // a goroutine opens the inbox
	opened  lifecycle.Instant
	short   int // consecutive openings that did not last
}

// AddInbox creates an inbox for a name. It returns nil if the name already has an inbox, because a session can be only
// one member in a process.
func (in *Incarnation) AddInbox(name string, reader InboxReader) *Inbox {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.inboxes[name] != nil {
		return nil
	}
	if in.inboxes == nil {
		in.inboxes = make(map[string]*Inbox)
	}
	b := &Inbox{in: in, name: name, reader: reader}
	in.inboxes[name] = b
	return b
}

// Open opens a member's inbox and keeps it open.
func (i *Inbox) Open(member uint64) {
	i.in.mu.Lock()
	defer i.in.mu.Unlock()
	i.member = member
	i.reopen()
}

// Close ends the inbox. Items on their way may still reach the reader.
func (i *Inbox) Close() {
	i.in.mu.Lock()
	defer i.in.mu.Unlock()
	i.remove()
}

// remove is Close with the lock held, here and below. It returns false if the inbox was already removed.
func (i *Inbox) remove() bool {
	if i.in.inboxes[i.name] != i {
		return false
	}
	delete(i.in.inboxes, i.name)
	return true
}

// reopen starts to open the inbox.
func (i *Inbox) reopen() {
	if i.needed() && !i.opening {
		i.opening = i.in.group.scope.Go(i.openUntilDone)
	}
}

// needed reports whether the inbox is to be opened.
func (i *Inbox) needed() bool {
	return i.member != 0 && i.conn == nil && i.in.cause == nil && i.in.inboxes[i.name] == i
}

// lost records that the inbox is no longer open.
func (i *Inbox) lost() {
	i.conn = nil
	if i.short++; i.in.group.scope.Now().Sub(i.opened) > retry.Requests.Most {
		i.short = 0
	}
	i.reopen()
}

// openUntilDone runs until the inbox is open, or closed.
func (i *Inbox) openUntilDone() {
	in := i.in
	var r retry.Retries
	for {
		in.mu.Lock()
		i.opening = i.needed()
		opening, short := i.opening, i.short
		in.mu.Unlock()
		if !opening || short > 1 && retry.Wait(in.ctx, retry.Requests.Pause(short-2)) != nil {
			return
		}
		err := in.repeat(in.ctx, i.open)
		switch {
		case err == nil:
			r = retry.Retries{}
		case failure.Refusal(err) == protocol.StatusNotFound:
			i.removed(err)
			return
		case failure.Refusal(err) == protocol.StatusSessionExpired:
			in.End(Unknown, "")
			return
		case in.ctx.Err() != nil || !in.pauseAfter(&r, err, nil, nil):
			return
		}
	}
}

// open asks once for the inbox.
func (i *Inbox) open(tried cluster.Tried) (*conn.Conn, *cluster.Host, error) {
	in := i.in
	ctx, cancel := context.WithTimeoutCause(in.ctx, in.tryTimeout(), errSlow)
	defer cancel()
	to, h, err := in.connTo(ctx, i.name, tried)
	if err != nil {
		return to, h, slowly(err, h)
	}
	in.mu.Lock()
	i.conn, i.opened = to, in.group.scope.Now()
	m := &protocol.InboxOpen{
		SessionID: in.id, NodeID: in.nodeID, Name: protocol.View(i.name), MemberID: i.member,
		After: i.reader.Received(),
	}
	in.mu.Unlock()
	if err = to.RoundTrip(ctx, m, nil); err != nil {
		in.mu.Lock()
		if i.conn == to {
			i.conn = nil
		}
		in.mu.Unlock()
	}
	return to, h, slowly(err, h)
}

// Inbox implements conn.Session.
func (in *Incarnation) Inbox(from *conn.Conn, p *protocol.Inbox) {
	in.mu.Lock()
	b := in.inboxes[string(p.Name)]
	known := b != nil && b.member == p.MemberID && p.NodeID == in.nodeID && in.cause == nil
	in.mu.Unlock()
	if !known {
		return
	}
	if p.Items.Len() > 0 {
		b.reader.Take(&p.Items)
	}
	switch p.End.Status {
	case protocol.StatusSuccess:
	case protocol.StatusNotFound:
		b.removed(p.End.Err())
	default:
		if p.End.Status == protocol.StatusMoved {
			in.group.cluster.Moved(&p.End.Moved, from)
		}
		in.mu.Lock()
		if b.conn == from {
			b.lost()
		}
		in.mu.Unlock()
	}
}

// removed ends the inbox of a former member.
func (i *Inbox) removed(why error) {
	i.in.mu.Lock()
	was := i.remove()
	i.in.mu.Unlock()
	if was {
		i.reader.Removed(why)
	}
}
