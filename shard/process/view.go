package process

import (
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/internal/arena"
	"github.com/signalbox/signalbox/shard/machine"
)

// View numbers. The last view is never watched, because inboxes change with every message, without a revision.
const (
	showsProcess uint32 = iota
	showsResults
	showsInboxes
)

// resultsView is the name of the results view.
const resultsView = "results"

func (pr *processes) View(co *machine.Core, object arena.Handle, name string) (machine.View, bool) {
	p := pr.At(co.Objects.At(object).State)
	switch name {
	case "":
		return p.whole.View(showsProcess), true
	case resultsView:
		return p.results.View(showsResults), true
	}
	return machine.View{}, false
}

func (pr *processes) Describe(co *machine.Core, object arena.Handle, v machine.View, o machine.Described,
	d *shard.Description) {
	machine.DescribeRows(pr, co, object, v, o, d)
}

func (pr *processes) Changes(co *machine.Core, object arena.Handle, v machine.View, since shard.Revision,
	d *shard.Delta) bool {
	head := shard.Revision(0) // the results have no head
	if v.Number == showsProcess {
		head = pr.At(co.Objects.At(object).State).whole.Head
	}
	return machine.ChangeRows(pr, co, object, v, head, since, d)
}

func (pr *processes) AppendHead(dst []byte, co *machine.Core, object arena.Handle, v machine.View) []byte {
	if v.Number == showsResults {
		return dst
	}
	h := pr.At(co.Objects.At(object).State).Head()
	return protocol.AppendRecord(dst, &h)
}

func (pr *processes) AppendRow(dst []byte, co *machine.Core, object arena.Handle, v machine.View, row uint64) (
	[]byte, bool) {
	p := pr.At(co.Objects.At(object).State)
	id, of := row>>RowBits, row&(1<<RowBits-1)
	if of == rowOfResult {
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
	r := p.memberRecord(member, uint64(co.Sessions.ID(co.Holdings.At(arena.Handle(member.Ref)).Session)))
	if v.Number == showsInboxes {
		r.Unread = member.Unread()
	}
	return protocol.AppendRecord(dst, &r), true
}

// NextRow iterates over the members and results in row-number order.
func (pr *processes) NextRow(co *machine.Core, object arena.Handle, v machine.View, after uint64) (row uint64,
	ok bool) {
	return pr.At(co.Objects.At(object).State).NextRow(v.Number == showsResults, after)
}
