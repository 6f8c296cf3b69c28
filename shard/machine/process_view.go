package machine

import (
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/internal/arena"
	"github.com/signalbox/signalbox/shard/process"
)

// The numbers of the views of a process. The last view is never watched, because inboxes change with every message,
// without a revision.
const (
	showsProcess uint32 = iota
	showsResults
	showsInboxes
)

// resultsView is the name of the view of the results.
const resultsView = "results"

func (pr *processes) view(m *Core, object arena.Handle, name string) (view, bool) {
	p := pr.At(m.Objects.At(object).body)
	switch name {
	case "":
		return view{track: &p.whole.track, number: showsProcess}, true
	case resultsView:
		return view{track: &p.results.track, number: showsResults}, true
	}
	return view{}, false
}

func (pr *processes) describe(m *Core, object arena.Handle, v view, o described, d *shard.Description) {
	describeRows(pr, m, object, v, o, d)
}

func (pr *processes) changes(m *Core, object arena.Handle, v view, since shard.Revision, d *shard.Delta) bool {
	head := shard.Revision(0) // the results have no head
	if v.number == showsProcess {
		head = pr.At(m.Objects.At(object).body).whole.head
	}
	return changeRows(pr, m, object, v, head, since, d)
}

func (pr *processes) appendHead(dst []byte, m *Core, object arena.Handle, v view) []byte {
	if v.number == showsResults {
		return dst
	}
	h := pr.At(m.Objects.At(object).body).Head()
	return protocol.AppendRecord(dst, &h)
}

func (pr *processes) appendRow(dst []byte, m *Core, object arena.Handle, v view, row uint64) ([]byte, bool) {
	p := pr.At(m.Objects.At(object).body)
	id, of := row>>process.RowBits, row&(1<<process.RowBits-1)
	if of == process.RowOfResult {
		result := p.Result(id)
		if result == nil {
			return dst, false
		}
		r := result.Record(v.number == showsResults)
		return protocol.AppendRecord(dst, &r), true
	}
	member := p.Member(id)
	if member == nil || v.number == showsResults {
		return dst, false
	}
	r := p.MemberRecord(member, uint64(m.Sessions.At(m.Holdings.At(arena.Handle(member.Ref)).session).id))
	if v.number == showsInboxes {
		r.Unread = member.Unread()
	}
	return protocol.AppendRecord(dst, &r), true
}

// nextRow goes through the members and results in the order of their rows' numbers.
func (pr *processes) nextRow(m *Core, object arena.Handle, v view, after uint64) (row uint64, ok bool) {
	return pr.At(m.Objects.At(object).body).NextRow(v.number == showsResults, after)
}
