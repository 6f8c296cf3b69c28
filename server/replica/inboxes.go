package replica

import (
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/inbox"
	"github.com/signalbox/signalbox/shard"
)

// OpenInbox has the inbox of a member pushed over a connection, and answers; the caller flushes. It returns false, and
// answers nothing, where the session is no such member as far as this copy of the shard has come: sure says that it is
// up to date.
func (r *Replica) OpenInbox(c Conn, request uint64, m *protocol.InboxOpen, sure bool) bool {
	of := inbox.Member{
		Session: shard.SessionID(m.SessionID), Node: shard.NodeID(m.NodeID), Name: string(m.Name),
		ID: shard.OrderID(m.MemberID),
	}
	refused := r.Inboxes.Open(of, c, m.After, func(at shard.InboxPlace) bool {
		return c.AnswerBound(of.Session, request, &protocol.InboxOpenAnswer{Acked: at.Acked, LastSeq: at.LastSeq})
	})
	switch {
	case refused.Status == protocol.StatusNotFound && !sure:
		return false
	case refused.Status != protocol.StatusSuccess:
		c.Fail(request, protocol.KindInboxOpen, &refused)
	case !r.Leads():
		// The end of a leadership ends them all after it is known here: either that finds this one, or it is seen here.
		r.Inboxes.End(r.set.Moved(r))
	}
	return true
}
