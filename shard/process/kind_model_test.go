package process

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/field"
	processkind "github.com/signalbox/signalbox/protocol/process"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/machine"
	"github.com/signalbox/signalbox/shard/machine/machinetest"
)

// processModel is a naive model of a shard's processes after a command: members, quota usage, alarms, notifications,
// and the readers' views. The rules of one process are those of package process, which has its own model.
type processModel struct {
	*machinetest.ModelShard
	processes map[string]*modelProcess

	effects Effects
	fresh   int      // bytes of newly created objects
	sent    []string // notifications since the step began
}

type modelProcess struct {
	name     string
	rules    *Process
	revision shard.Revision
	members  []*modelParty // by order id
}

type modelParty struct {
	session shard.SessionID
	order   shard.OrderID
	number  uint64
	since   uint64
	member  *Member
}

func newProcessModel() *processModel {
	return &processModel{ModelShard: machinetest.NewModelShard(), processes: map[string]*modelProcess{}}
}

func (mp *modelProcess) member(id shard.SessionID) *modelParty {
	for _, m := range mp.members {
		if m.session == id {
			return m
		}
	}
	return nil
}

func (mp *modelProcess) forget(m *Member) {
	mp.members = slices.DeleteFunc(mp.members, func(x *modelParty) bool { return x.member == m })
}

// The model is the Caller of the rules.

func (mo *processModel) NextOrder() uint64 {
	mo.Order = machinetest.NextOrder(mo.Order)
	return uint64(mo.Order)
}

func (mo *processModel) touch(*Member) {}

func (mo *processModel) MayGrow(bytes int) bool {
	return mo.Bytes()+mo.Size()+uint64(bytes+mo.fresh) <= mo.Limit
}

func (mo *processModel) at() At {
	mo.effects.Reset()
	return At{Now: mo.Now, Wall: mo.Wall, Revision: uint64(mo.Revision) + 1, Caller: mo, Out: &mo.effects}
}

// finish gives the process the next revision if a view shows a change, and records notifications.
func (mo *processModel) finish(mp *modelProcess) {
	if mp.rules.WholeRevision() == uint64(mo.Revision)+1 {
		mo.Revision++
		mp.revision = mo.Revision
	}
	for _, m := range mo.effects.Inbox {
		mo.send("inbox", mp.name, shard.OrderID(m.ID))
	}
	for _, m := range mo.effects.Removed {
		mp.forget(m.Member)
		mo.send("lost", mp.name, shard.OrderID(m.ID))
	}
}

func (mo *processModel) send(what, name string, to shard.OrderID) {
	mo.sent = append(mo.sent, fmt.Sprintf("%s of %s for %d", what, name, to))
}

// create creates a process, with a first member if j is not nil.
func (mo *processModel) create(name string, put processkind.Put, id shard.SessionID,
	j *processkind.Joining) Answer {
	at := mo.at()
	rules, a := New(at, put.Spec, put.By)
	if a.Status != protocol.StatusSuccess {
		return a
	}
	mp := &modelProcess{name: name, rules: rules}
	mo.fresh = shard.ObjectBytes + len(name) + rules.Size()
	defer func() { mo.fresh = 0 }()
	if j != nil {
		a = mo.admit(at, mp, id, *j)
	} else if !mo.MayGrow(0) {
		a.Status = protocol.StatusQuotaExceeded
	}
	if a.Status == protocol.StatusSuccess {
		mo.processes[name] = mp
		mo.finish(mp)
	}
	return a
}

func (mo *processModel) put(name string, p processkind.Put) (a Answer) {
	mp := mo.processes[name]
	switch {
	case mp == nil && p.Mode == field.PutAlter:
		a.Status = protocol.StatusNotFound
	case mp == nil && p.ExpectedRevision != 0:
		a.Status = protocol.StatusPreconditionFailed
	case mp == nil:
		return mo.create(name, p, 0, nil)
	case p.Mode == field.PutCreate:
		a.Status = protocol.StatusAlreadyExists
	case p.ExpectedRevision != 0 && p.ExpectedRevision != mp.rules.SpecRevision():
		a.Status = protocol.StatusPreconditionFailed
	default:
		return mo.do(mp, func(at At) Answer {
			return mp.rules.Alter(at, p.Spec, p.By)
		})
	}
	return a
}

// do carries a command out on a process.
func (mo *processModel) do(mp *modelProcess, does func(At) Answer) Answer {
	a := does(mo.at())
	mo.finish(mp)
	return a
}

// in executes a member's command, and its acknowledgement afterwards.
func (mo *processModel) in(mp *modelProcess, id shard.SessionID, order shard.OrderID, ack uint64,
	does func(At, *Member) Answer) Answer {
	m := mp.member(id)
	if m == nil || m.order != order {
		return mp.rules.Gone(uint64(order))
	}
	return mo.do(mp, func(at At) Answer {
		a := does(at, m.member)
		if ack != 0 {
			mp.rules.Ack(at, m.member, ack)
		}
		return a
	})
}

// join makes a session join. The answer's number is the member's id.
func (mo *processModel) join(name string, id shard.SessionID, arrival processkind.Arrival) Answer {
	mp := mo.processes[name]
	if mp == nil && !arrival.Create {
		return Answer{Status: protocol.StatusNotFound}
	}
	if mp == nil {
		put := processkind.Put{Spec: arrival.Spec, By: processkind.ChangeInfo{Author: arrival.Name, Reason: "joined"}}
		return mo.create(name, put, id, &arrival.Joining)
	}
	return mo.do(mp, func(at At) Answer {
		if m := mp.member(id); m != nil {
			return mp.rules.Join(at, m.member, arrival.Joining)
		}
		a := mo.admit(at, mp, id, arrival.Joining)
		if a.Status == protocol.StatusSuccess {
			mp.rules.gathered(at)
		}
		return a
	})
}

func (mo *processModel) admit(at At, mp *modelProcess, id shard.SessionID,
	j processkind.Joining) Answer {
	m := &modelParty{
		session: id, order: machinetest.NextOrder(mo.Order), number: mo.Sessions[id].Number, since: mo.Wall,
	}
	m.member = &Member{ID: uint64(m.order)}
	mo.fresh += shard.LinkBytes
	a := mp.rules.Join(at, m.member, j)
	mo.fresh -= shard.LinkBytes
	if a.Status == protocol.StatusSuccess {
		mo.Order = m.order
		mp.members = append(mp.members, m)
	}
	return a
}

func (mo *processModel) leave(mp *modelProcess, id shard.SessionID, order shard.OrderID) Answer {
	return mo.in(mp, id, order, 0, func(at At, m *Member) Answer {
		mp.forget(m)
		return mp.rules.Leave(at, m)
	})
}

func (mo *processModel) delete(mp *modelProcess, force bool) Answer {
	a := mp.rules.Deletable(force)
	if a.Status == protocol.StatusSuccess {
		mo.Revision++
		for _, m := range mp.members {
			mo.send("lost", mp.name, m.order)
		}
		delete(mo.processes, mp.name)
	}
	return a
}

// End releases a session's holdings, by order id.
func (mo *processModel) End(id shard.SessionID) {
	var list []*modelProcess
	for _, mp := range mo.processes {
		if mp.member(id) != nil {
			list = append(list, mp)
		}
	}
	slices.SortFunc(list, func(a, b *modelProcess) int { return cmp.Compare(a.member(id).order, b.member(id).order) })
	for _, mp := range list {
		mo.leave(mp, id, mp.member(id).order)
	}
	delete(mo.Sessions, id)
}

// Drop removes the node with all its objects.
func (mo *processModel) Drop() {
	for _, name := range slices.Sorted(maps.Keys(mo.processes)) {
		mo.delete(mo.processes[name], true)
	}
	clear(mo.Sessions)
	mo.Limit = shard.DefaultNodeBytes
}

// Due applies effects of time, by time and name.
func (mo *processModel) Due() {
	for {
		first, when := (*modelProcess)(nil), mo.Now
		for _, name := range slices.Sorted(maps.Keys(mo.processes)) {
			at, waits := mo.processes[name].rules.NextDue()
			if waits && (at < when || at == when && first == nil) {
				first, when = mo.processes[name], at
			}
		}
		if first == nil {
			return
		}
		mo.do(first, func(at At) Answer {
			first.rules.Due(at)
			return Answer{}
		})
	}
}

func (mo *processModel) Alarms() (list []uint64) {
	for _, mp := range mo.processes {
		if at, waits := mp.rules.NextDue(); waits {
			list = append(list, at)
		}
	}
	return list
}

// Size is the processes' size in quotas.
func (mo *processModel) Size() (n uint64) {
	for name, mp := range mo.processes {
		n += uint64(shard.ObjectBytes + len(name) + mp.rules.Size())
		for _, m := range mp.members {
			n += uint64(shard.LinkBytes + m.member.Size())
		}
	}
	return n
}

// Objects are the processes in State form.
func (mo *processModel) Objects() (list []shard.ObjectState) {
	for _, name := range slices.Sorted(maps.Keys(mo.processes)) {
		mp := mo.processes[name]
		state := shard.ObjectState{
			Node: 1, Name: name, Kind: shard.KindProcess, Revision: mp.revision, Body: mp.rules.Describe(),
		}
		for _, m := range mp.members {
			state.Links = append(state.Links, shard.LinkState{
				Session: m.session, Order: m.order, Number: m.number, Owner: true, Since: m.since,
				Body: m.member.Describe(),
			})
		}
		list = append(list, state)
	}
	return list
}

// View compares all processes, and their parts, with the model.
func (mo *processModel) View(m *machine.Machine) error {
	for name, mp := range mo.processes {
		shown := map[string]field.Value{}
		head := mp.rules.Head()
		shown[" 0"] = &head
		for _, member := range mp.members {
			row := mp.rules.memberRecord(member.member, uint64(member.session))
			row.Unread = member.member.Unread()
			shown[fmt.Sprintf(" %d", member.order*2)] = &row
		}
		for _, result := range mp.rules.Results() {
			short, whole := result.Record(false), result.Record(true)
			shown[fmt.Sprintf(" %d", result.Epoch*2+1)] = &short
			shown[fmt.Sprintf("results %d", result.Epoch*2+1)] = &whole
		}
		for k, act := range mp.rules.Audit() {
			row := act.Record()
			shown[fmt.Sprintf("actions %d", mp.rules.Audit()[k].Number)] = &row
		}
		if err := showsAll(m, name, shown); err != nil {
			return err
		}
	}
	return nil
}

// showsAll reports whether the machine shows exactly these heads and rows of a process, named by part and number.
func showsAll(m *machine.Machine, name string, want map[string]field.Value) error {
	rows := 0
	for _, part := range []string{"", "results", "actions"} {
		var d Description
		if Describe(m, 1, name, shard.PartOptions{Part: part}, &d) != shard.FoundPart {
			return fmt.Errorf("%s has no part %q", name, part)
		}
		if len(d.Head) > 0 {
			d.Rows = append(d.Rows, shard.Row{Body: d.Head})
		}
		for _, row := range d.Rows {
			at := fmt.Sprintf("%s %d", part, row.ID)
			if r := want[at]; r == nil || string(protocol.AppendRecord(nil, r)) != string(row.Body) {
				return fmt.Errorf("%s shows %q in another way", name, at)
			}
		}
		rows += len(d.Rows)
	}
	if rows != len(want) {
		return fmt.Errorf("%s shows %d heads and rows of %d", name, rows, len(want))
	}
	return nil
}
