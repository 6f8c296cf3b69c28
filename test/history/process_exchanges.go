package history

import (
	"cmp"
	"slices"
	"strings"
)

// Exchanges checks messages between members. A request is handled only by its recipients, at most once each, in the
// epoch in which it was sent. Requests from one member are handled in send order. An exchange ends with a reply from
// each recipient, or from some, and the replies equal the recipients' return values.
func Exchanges(h *History) []string {
	var found findings
	sent := make(map[markKey]*Exchange)
	for i := range h.Exchanges {
		x := &h.Exchanges[i]
		if key := (markKey{x.Process, x.Mark}); sent[key] == nil {
			sent[key] = x
		} else {
			found.add(x.Process, "%q was sent twice", x.Mark)
		}
	}
	handled := make(map[handledKey]*ProcessCall)
	for i := range h.Calls {
		c := &h.Calls[i]
		if c.Kind != CallRequest {
			continue
		}
		key := handledKey{markKey{c.Process, c.Mark}, c.Member}
		if first := handled[key]; first != nil {
			found.add(c.Process, "member %d handled %q at %v, and at %v again", c.Member, c.Mark, first.Began, c.Began)
			continue
		}
		handled[key] = c
		found = append(found, checkRequest(c, sent[key.markKey])...)
	}
	for i := range h.Exchanges {
		found = append(found, checkReplies(&h.Exchanges[i], handled)...)
	}
	return append(found, checkOrder(h, sent)...)
}

type markKey struct {
	process Process
	mark    string
}

type handledKey struct {
	markKey
	member uint64
}

// checkRequest compares a handled request with the sent request.
func checkRequest(c *ProcessCall, x *Exchange) (found findings) {
	switch {
	case x == nil:
		found.add(c.Process, "member %d handled %q of %d, which no member sent", c.Member, c.Mark, c.From)
	case x.Epoch != c.Epoch || x.Member != c.From || !x.isFor(c.Member) || x.Called > c.Began:
		found.add(c.Process, "member %d handled %q of %d in epoch %d at %v; %d sent it in epoch %d at %v to %v",
			c.Member, c.Mark, c.From, c.Epoch, c.Began, x.Member, x.Epoch, x.Called, x.To)
	case x.Outcome != Done && x.Outcome != Unknown:
		found.add(c.Process, "member %d handled %q, which was refused at %v: %s", c.Member, c.Mark, x.Returned, x.Error)
	}
	return found
}

// checkReplies compares the replies received in an exchange with the replies given.
func checkReplies(x *Exchange, handled map[handledKey]*ProcessCall) (found findings) {
	from := make(map[uint64]bool)
	for _, r := range x.Replies {
		c := handled[handledKey{markKey{x.Process, x.Mark}, r.From}]
		switch {
		case from[r.From]:
			found.add(x.Process, "%q got two replies of member %d", x.Mark, r.From)
		case c == nil:
			found.add(x.Process, "%q got the reply %q of member %d, which never handled it", x.Mark, r.Text, r.From)
		case c.Failed != r.Failed || c.Reply != r.Text && !(r.Failed && strings.Contains(r.Text, c.Reply)) ||
			c.Began > x.Returned:
			found.add(x.Process, "%q got the reply %q, failed %v, of member %d at %v, which replied %q, failed %v, "+
				"at %v", x.Mark, r.Text, r.Failed, r.From, x.Returned, c.Reply, c.Failed, c.Began)
		}
		from[r.From] = true
	}
	if x.Outcome == Done && !x.Late && len(from) != x.Wanted {
		found.add(x.Process, "%q of epoch %d was for %d members, and ended with the replies of %d", x.Mark, x.Epoch,
			x.Wanted, len(from))
	}
	return found
}

// checkOrder checks that members handle requests from one sender in send order: a request sent after a later one was
// certainly accepted must not be handled first.
func checkOrder(h *History, sent map[markKey]*Exchange) (found findings) {
	taken := takenBy(h, sent)
	for m, calls := range callsOf(h) {
		latest := make(map[uint64]*Exchange) // by sender: latest send time among requests handled by the member
		for _, c := range calls {
			x := sent[markKey{c.Process, c.Mark}]
			if c.Kind != CallRequest || x == nil {
				continue
			}
			if before := latest[c.From]; before != nil && taken[x] <= before.Called {
				found.add(m, "%q, sent at %v, was handled before %q, which had been taken at %v", before.Mark,
					before.Called, x.Mark, taken[x])
			}
			if before := latest[c.From]; before == nil || x.Called > before.Called {
				latest[c.From] = x
			}
		}
	}
	slices.SortFunc(found, cmp.Compare)
	return found
}

// takenBy returns the time by which the process had certainly accepted a request: the sender was answered, or the first
// member began to handle it.
func takenBy(h *History, sent map[markKey]*Exchange) map[*Exchange]Time {
	taken := make(map[*Exchange]Time)
	for _, x := range sent {
		taken[x] = Never
		if x.Outcome == Done {
			taken[x] = x.Returned
		}
	}
	for i := range h.Calls {
		c := &h.Calls[i]
		if x := sent[markKey{c.Process, c.Mark}]; c.Kind == CallRequest && x != nil {
			taken[x] = min(taken[x], c.Began)
		}
	}
	return taken
}
