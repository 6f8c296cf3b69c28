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

func (pr *processes) View(m *Core, object arena.Handle, name string) (View, bool) {
	p := pr.At(m.Objects.At(object).State)
	switch name {
	case "":
		return p.whole.View(showsProcess), true
	case resultsView:
		return p.results.View(showsResults), true
	}
	return View{}, false
}

func (pr *processes) Describe(m *Core, object arena.Handle, v View, o Described, d *shard.Description) {
	DescribeRows(pr, m, object, v, o, d)
}

func (pr *processes) Changes(m *Core, object arena.Handle, v View, since shard.Revision, d *shard.Delta) bool {
	head := shard.Revision(0) // the results have no head
	if v.Number == showsProcess {
		head = pr.At(m.Objects.At(object).State).whole.Head
	}
	return ChangeRows(pr, m, object, v, head, since, d)
}

func (pr *processes) AppendHead(dst []byte, m *Core, object arena.Handle, v View) []byte {
	if v.Number == showsResults {
		return dst
	}
	h := pr.At(m.Objects.At(object).State).Head()
	return protocol.AppendRecord(dst, &h)
}

func (pr *processes) AppendRow(dst []byte, m *Core, object arena.Handle, v View, row uint64) ([]byte, bool) {
	p := pr.At(m.Objects.At(object).State)
	id, of := row>>process.RowBits, row&(1<<process.RowBits-1)
	if of == process.RowOfResult {
		result := p.Result(id)
		if result == nil {
			return dst, false
		}
		r := result.Record(v.Number == showsResults)
		return protocol.AppendRecord(dst, &r), true
	}
	member := p.Member(id)
	if member == nil || v.Number == showsResults {
		return dst, false
	}
	r := p.MemberRecord(member, uint64(m.Sessions.ID(m.Holdings.At(arena.Handle(member.Ref)).Session)))
	if v.Number == showsInboxes {
		r.Unread = member.Unread()
	}
	return protocol.AppendRecord(dst, &r), true
}

// NextRow goes through the members and results in the order of their rows' numbers.
func (pr *processes) NextRow(m *Core, object arena.Handle, v View, after uint64) (row uint64, ok bool) {
	return pr.At(m.Objects.At(object).State).NextRow(v.Number == showsResults, after)
}
