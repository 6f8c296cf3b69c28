package rollout

import (
	"iter"
	"strconv"
	"strings"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/field"
	rolloutkind "github.com/signalbox/signalbox/protocol/rollout"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/machine"
)

// Prefixes of rollout parts that can be described but not watched, in addition to the part with the actions. The prefix
// is followed by the location's name or the version's seq.
const (
	historyPart = "history/"
	versionPart = "version/"
)

// maxPage is the maximum number of rollouts on a list page. It is small, because the list examines everything that
// determines a rollout's phase.
const maxPage = 100

// Description is one page that describes a rollout part.
type Description struct {
	shard.PartPage
	Phase   rolloutkind.Phase
	Reasons []Reason
}

// Describe fills d with a rollout part.
func Describe(m *machine.Machine, n shard.NodeID, name string, o shard.PartOptions, d *Description) shard.Found {
	*d = Description{}
	co := m.RLock()
	defer m.RUnlock()
	object := co.Objects.Alive(shard.KindRollout, n, []byte(name))
	if object == 0 {
		return shard.FoundNothing
	}
	ro := rolloutsOf(co)
	st := ro.At(co.Objects.At(object).State)
	// Work that is due by the estimate, but not carried out yet, still counts as awaited.
	d.Now = max(o.Now, co.Clock.Now)
	d.Phase, d.Revision = st.Phase(co.Clock.Now), co.Objects.At(object).Revision
	if o.Why {
		d.Reasons = st.Why(co.Clock.Now, d.Now, func(l *Location) iter.Seq[*Instance] {
			return ro.instances(st.locationOf(l.ID))
		})
		for k := range d.Reasons {
			for j := range d.Reasons[k].Named {
				la := &d.Reasons[k].Named[j]
				link := co.Holdings.At(co.Holdings.After(co.Objects.At(object),
					shard.OrderID(la.ID)-1))
				la.Session = uint64(co.Sessions.ID(link.Session))
			}
		}
	}
	if v, ok := ro.View(co, object, o.Part); ok {
		co.DescribePart(&d.PartPage, object, v, &o)
		return shard.FoundPart
	}
	if !st.describeRest(&o, d) {
		return shard.FoundObject
	}
	return shard.FoundPart
}

// describeRest describes a part that is not a view. It returns false for an unknown part.
func (st *stagedRollout) describeRest(o *shard.PartOptions, d *Description) bool {
	if o.Part == machine.ActionsPart {
		acts := st.Audit()
		machine.FillPart(&d.PartPage, o, len(acts), func(k int) (uint64, field.Value) {
			r := acts[k].View()
			return r.ID, &r
		})
		return true
	}
	if location, is := strings.CutPrefix(o.Part, historyPart); is {
		l := st.Find(location)
		if l == nil {
			return false
		}
		machine.FillPart(&d.PartPage, o, len(l.History), func(k int) (uint64, field.Value) {
			r := l.History[k].View()
			return r.Generation, &r
		})
		return true
	}
	seq, is := strings.CutPrefix(o.Part, versionPart)
	number, err := strconv.ParseUint(seq, 10, 64)
	v := st.Version(number)
	if !is || err != nil || v == nil {
		return false
	}
	r := st.VersionView(v)
	r.Payload = v.Payload
	d.Head = protocol.AppendRecord(nil, &r)
	return true
}

// instances are a location's instances, in joining order.
func (ro *rollouts) instances(of *locationTracks) iter.Seq[*Instance] {
	return func(yield func(*Instance) bool) {
		for h := ro.byLocation.First(of.parts); h != 0; h = ro.byLocation.Next(h) {
			if !yield(&ro.parts.At(h).instance) {
				return
			}
		}
	}
}

// List appends a page of the node's rollouts, ordered by name: names with the prefix that sort behind after. It appends
// at most limit rollouts, never more than a hundred, and looks at no more than MaxPage objects. last is the last name
// looked at: the after argument for the next call, if there is more.
func List(m *machine.Machine, n shard.NodeID, prefix, after string, limit int, dst []rolloutkind.Summary) (
	_ []rolloutkind.Summary, last string, more bool) {
	limit = min(machine.PageLimit(limit), maxPage)
	last, more = m.WalkNames(shard.KindRollout, n, prefix, after, limit, func(co *machine.Core, o *machine.Object) {
		s := rolloutsOf(co).At(o.State).Summary(co.Clock.Now)
		s.Name, s.Revision = co.Objects.Name(o), uint64(o.Revision)
		dst = append(dst, s)
	})
	return dst, last, more
}

// Rehearse copies a rollout for a dry run that begins now, and returns nil if the rollout does not exist. The dry run
// works on the copy and does not block the machine. estimate is the leader's estimate of shard time, 0 if unknown.
func Rehearse(m *machine.Machine, n shard.NodeID, name string, estimate uint64) (r *Rehearsal, now uint64) {
	co := m.RLock()
	defer m.RUnlock()
	object := co.Objects.Alive(shard.KindRollout, n, []byte(name))
	if now = max(estimate, co.Clock.Now); object == 0 {
		return nil, now
	}
	return rolloutsOf(co).At(co.Objects.At(object).State).Rehearse(now), now
}

// PayloadOf returns a rollout version's label and payload; callers must not modify the payload. It returns false if the
// rollout does not keep the version.
func PayloadOf(m *machine.Machine, n shard.NodeID, name []byte, seq uint64) (label string, payload []byte, ok bool) {
	co := m.RLock()
	defer m.RUnlock()
	object := co.Objects.Alive(shard.KindRollout, n, name)
	if object == 0 {
		return "", nil, false
	}
	v := rolloutsOf(co).At(co.Objects.At(object).State).Version(seq)
	if v == nil {
		return "", nil, false
	}
	return v.Label, v.Payload, true
}

// Unchanged reports whether a CmdRolloutReport or a CmdRolloutAsk may be answered now, without the log, because the
// command would change nothing. If so, the caller answers the command; an ask is answered with the target. now is the
// leader's estimate of shard time. Only the leader's host calls Unchanged: DESIGN.md, section 11, explains why a
// deposed leader does no harm.
func Unchanged(m *machine.Machine, c *shard.Command, now uint64) (t Target, ok bool) {
	report, err := ParseReport(c.Body)
	if err != nil || c.Number != c.Acked+1 {
		return t, false
	}
	co := m.RLock()
	defer m.RUnlock()
	object, session := co.Objects.Alive(shard.KindRollout, c.Node, c.Name), co.Sessions.Alive(c.Session)
	if object == 0 || session == 0 {
		return t, false
	}
	o, applied := co.Objects.At(object), co.Sessions.Applied(session)
	link, node := co.Holdings.Find(o, object, session), co.Sessions.Node(co.Sessions.At(session))
	if link == 0 || node != co.Objects.Node(o) || node.Dropping ||
		c.Number <= applied {
		return t, false
	}
	ro := rolloutsOf(co)
	p := ro.parts.At(co.Holdings.At(link).State)
	st := ro.At(o.State)
	now = max(now, co.Clock.Now)
	ask := c.Kind == shard.CmdRolloutAsk
	if max(applied, p.answered.Load()) < c.Acked || !st.changesNothing(now, &p.instance, &report, ask) {
		return t, false
	}
	p.answered.Store(c.Number)
	if ask {
		t = st.targetOf(st.LocationOf(&p.instance), now)
	}
	return t, true
}
