package rollout

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/field"
	rolloutkind "github.com/signalbox/signalbox/protocol/rollout"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/machine"
	"github.com/signalbox/signalbox/shard/machine/machinetest"
)

// rolloutModel is a naive model of a shard's rollouts after a command: participants, quota usage, alarms, and the
// readers' views. The rules of one rollout are those of package rollout, which has its own model.
type rolloutModel struct {
	*machinetest.ModelShard
	rollouts map[string]*modelRollout

	effects Effects
	fresh   int // bytes of a new link
}

type modelRollout struct {
	name     string
	rules    *Rollout
	revision shard.Revision
	parts    []*modelPart // by order id
	shown    map[string]string
}

type modelPart struct {
	session  shard.SessionID
	order    shard.OrderID
	number   uint64
	since    uint64
	instance Instance
	source   bool
}

func newRolloutModel() *rolloutModel {
	return &rolloutModel{ModelShard: machinetest.NewModelShard(), rollouts: map[string]*modelRollout{}}
}

func (mr *modelRollout) part(id shard.SessionID) *modelPart {
	for _, p := range mr.parts {
		if p.session == id {
			return p
		}
	}
	return nil
}

// asked returns the source with an open request, nil if there is none.
func (mr *modelRollout) asked() *modelPart {
	for _, p := range mr.parts {
		if t := mr.rules.Ticket(); t.Number != 0 && uint64(p.order) == t.Source {
			return p
		}
	}
	return nil
}

// show returns the heads and rows visible to readers, by view name.
func (mr *modelRollout) show() map[string]string {
	shown := map[string]string{}
	put := func(view string, row uint64, r field.Value) {
		shown[fmt.Sprintf("%s %d", view, row)] = string(protocol.AppendRecord(nil, r))
	}
	head, ticket := mr.rules.Head(), mr.rules.TicketView()
	put("", 0, &head)
	put("source", 0, &ticket)
	for _, l := range mr.rules.Locations() {
		row, target := l.View(), mr.rules.TargetView(l)
		put("", l.ID*4, &row)
		put("instances/"+l.Spec.Name, 0, &l.Counts)
		put("location/"+l.Spec.Name, 0, &target)
		for _, p := range mr.parts {
			if p.instance.Name != "" && p.instance.locationID() == l.ID {
				row := p.instance.View(uint64(p.session))
				put("instances/"+l.Spec.Name, uint64(p.order)*4+2, &row)
			}
		}
	}
	for _, v := range mr.rules.Versions() {
		row := mr.rules.VersionView(v)
		put("", v.Seq*4+1, &row)
	}
	return shown
}

// MayGrow is the quota.
func (mo *rolloutModel) MayGrow(bytes int) bool {
	return mo.Bytes()+mo.Size()+uint64(bytes+mo.fresh) <= mo.Limit
}

func (mo *rolloutModel) at() At {
	mo.effects.Reset()
	return At{Now: mo.Now, Wall: mo.Wall, Revision: uint64(mo.Revision) + 1, Out: &mo.effects,
		Room: mo}
}

// review gives the rollout the next revision if it looks different.
func (mo *rolloutModel) review(mr *modelRollout) {
	if now := mr.show(); !maps.Equal(now, mr.shown) {
		mo.Revision++
		mr.revision, mr.shown = mo.Revision, now
	}
}

func (mo *rolloutModel) put(name string, p rolloutkind.Put) Answer {
	mr := mo.rollouts[name]
	switch {
	case mr == nil && p.Mode == field.PutAlter:
		return Answer{Status: protocol.StatusNotFound}
	case mr == nil && p.ExpectedRevision != 0:
		return Answer{Status: protocol.StatusPreconditionFailed}
	case mr == nil:
		r, a := New(mo.at(), p.Spec, p.By)
		if a.Status == protocol.StatusSuccess && !mo.MayGrow(shard.ObjectBytes+len(name)+r.Size()) {
			return Answer{Status: protocol.StatusQuotaExceeded}
		}
		if a.Status == protocol.StatusSuccess {
			mo.rollouts[name] = &modelRollout{name: name, rules: r}
		}
		return a
	case p.Mode == field.PutCreate:
		return Answer{Status: protocol.StatusAlreadyExists}
	case p.ExpectedRevision != 0 && p.ExpectedRevision != mr.rules.SpecRevision():
		return Answer{Status: protocol.StatusPreconditionFailed}
	}
	return mr.rules.Alter(mo.at(), p.Spec, p.By)
}

func (mo *rolloutModel) delete(mr *modelRollout, force bool) Answer {
	a := mr.rules.Deletable(force)
	if a.Status == protocol.StatusSuccess {
		mo.Revision++
		delete(mo.rollouts, mr.name)
	}
	return a
}

// with runs does for a session's part, created if missing.
func (mo *rolloutModel) with(mr *modelRollout, id shard.SessionID, number uint64,
	does func(*modelPart) Answer) Answer {
	p := mr.part(id)
	if p != nil {
		return does(p)
	}
	p = &modelPart{session: id, order: machinetest.NextOrder(mo.Order), number: number, since: mo.Wall}
	p.instance.ID = uint64(p.order)
	mo.fresh = shard.LinkBytes + p.instance.Size()
	a := does(p)
	mo.fresh = 0
	if a.Status == protocol.StatusSuccess {
		mo.Order = p.order
		mr.parts = append(mr.parts, p)
	}
	return a
}

// leave ends a session's part as an instance, endSource as a source. A part that is neither is deleted.

func (mo *rolloutModel) leave(mr *modelRollout, p *modelPart) Answer {
	if p == nil {
		return mr.rules.Leave(mo.at(), &Instance{})
	}
	a := mr.rules.Leave(mo.at(), &p.instance)
	if a.Status == protocol.StatusSuccess {
		p.instance = Instance{ID: p.instance.ID}
	}
	mr.prune()
	return a
}

func (mo *rolloutModel) endSource(mr *modelRollout, p *modelPart) Answer {
	if p == nil {
		return mr.rules.removeSource(mo.at(), 0)
	}
	a := mr.rules.removeSource(mo.at(), p.instance.ID)
	p.source = false
	mr.prune()
	return a
}

func (mr *modelRollout) prune() {
	mr.parts = slices.DeleteFunc(mr.parts, func(p *modelPart) bool { return !p.source && p.instance.Name == "" })
}

// End releases a session's holdings, by order id.
func (mo *rolloutModel) End(id shard.SessionID) {
	var list []*modelRollout
	for _, mr := range mo.rollouts {
		if mr.part(id) != nil {
			list = append(list, mr)
		}
	}
	slices.SortFunc(list, func(a, b *modelRollout) int { return cmp.Compare(a.part(id).order, b.part(id).order) })
	for _, mr := range list {
		p := mr.part(id)
		if p.source {
			mo.endSource(mr, p)
		}
		if p.instance.Name != "" {
			mo.leave(mr, p)
		}
		mo.review(mr)
	}
	delete(mo.Sessions, id)
}

// Drop removes the node with all its objects.
func (mo *rolloutModel) Drop() {
	mo.Revision += shard.Revision(len(mo.rollouts))
	clear(mo.rollouts)
	clear(mo.Sessions)
	mo.Limit = shard.DefaultNodeBytes
}

// Due applies effects of time, and nextDue returns their next time.
func (mo *rolloutModel) Due() {
	for {
		mr := mo.first()
		if mr == nil {
			return
		}
		if at, _ := mr.rules.NextDue(); at > mo.Now {
			return
		}
		mr.rules.Due(mo.at())
		mo.review(mr)
	}
}

// first is the rollout with the earliest alarm.
func (mo *rolloutModel) first() (first *modelRollout) {
	for _, name := range slices.Sorted(maps.Keys(mo.rollouts)) {
		mr := mo.rollouts[name]
		if at, waits := mr.rules.NextDue(); waits {
			if first == nil || at < firstDue(first) {
				first = mr
			}
		}
	}
	return first
}

func firstDue(mr *modelRollout) uint64 {
	at, _ := mr.rules.NextDue()
	return at
}

// Size is the rollouts' size in quotas.
func (mo *rolloutModel) Size() (n uint64) {
	for name, mr := range mo.rollouts {
		n += uint64(shard.ObjectBytes + len(name) + mr.rules.Size())
		for _, p := range mr.parts {
			n += uint64(shard.LinkBytes + p.instance.Size())
		}
	}
	return n
}

func (mo *rolloutModel) Alarms() (list []uint64) {
	for _, mr := range mo.rollouts {
		if at, waits := mr.rules.NextDue(); waits {
			list = append(list, at)
		}
	}
	return list
}

// Objects are the rollouts in State form.
func (mo *rolloutModel) Objects() (list []shard.ObjectState) {
	for _, name := range slices.Sorted(maps.Keys(mo.rollouts)) {
		mr := mo.rollouts[name]
		state := shard.ObjectState{
			Node: 1, Name: name, Kind: shard.KindRollout, Revision: mr.revision, Body: mr.rules.Describe(),
		}
		for _, p := range mr.parts {
			state.Links = append(state.Links, shard.LinkState{
				Session: p.session, Order: p.order, Number: p.number, Owner: true, Since: p.since,
				Body: p.instance.Describe(p.source),
			})
		}
		list = append(list, state)
	}
	return list
}

// View compares all rollouts, and their parts, with the model.
func (mo *rolloutModel) View(m *machine.Machine) error {
	for name, mr := range mo.rollouts {
		var d Description
		for shown, body := range mr.shown {
			var view string
			var row uint64
			cut := strings.LastIndexByte(shown, ' ')
			view = shown[:cut]
			fmt.Sscan(shown[cut+1:], &row)
			if Describe(m, 1, name, shard.PartOptions{Part: view}, &d) != shard.FoundPart {
				return fmt.Errorf("%s has no part %q", name, view)
			}
			k := slices.IndexFunc(d.Rows, func(at shard.Row) bool { return at.ID == row })
			if row == 0 && string(d.Head) != body || row != 0 && (k < 0 || string(d.Rows[k].Body) != body) {
				return fmt.Errorf("%s shows %q in another way", name, shown)
			}
		}
	}
	return nil
}
