package rollout

import (
	"slices"
	"strings"

	"github.com/signalbox/signalbox/protocol"
	kind "github.com/signalbox/signalbox/protocol/rollout"
	"github.com/signalbox/signalbox/shard/clock"
	"github.com/signalbox/signalbox/shard/internal/codec"
)

// Role decides whether an instance counts. A starting instance is a follower: a follower gets its location's target,
// but the rollout does not wait for followers. An instance with the data becomes a leader when it can serve.
type Role uint8

// The roles.
const (
	Follower Role = iota
	Leader
	roles
)

var roleNames = [roles]string{Follower: "follower", Leader: "leader"}

// String formats the role for people.
func (ro Role) String() string { return roleNames[ro] }

// signal classifies an instance's failure by its possible consequence.
type signal uint8

const (
	signalNone  signal = iota
	signalCode         // the instance failed with a listed code
	signalTries        // the instance failed more often than allowed
	signals
)

// Instance is one instance in a location: what a joined session reports about itself. The caller owns the instance,
// keeps it at a fixed address while it is joined, sets ID, and changes nothing else.
type Instance struct {
	ID         uint64 // set by the caller, never reused
	Name       string
	Location   string
	Attributes string
	Role       Role
	Report            // the last report
	Since      uint64 // timestamp of the last change in status or generation
	// Sent is the generation the instance is known to have received, Received the timestamp of receipt.
	Sent, Received uint64
	// Revision is the last change's revision.
	Revision uint64

	live     bool   // the instance has joined, and not left
	location uint64 // id; the location may be deleted
	signal   signal
	place    int // index among its location's suspects, for a suspect
}

// Report is an instance's report: the version in use, and the progress with the target under a generation.
type Report struct {
	Current    uint64
	Generation uint64
	Status     kind.Status
	Code, Text string
	Attempts   uint64
}

// locationID is the id of the location joined last, which may be deleted; 0 before the first join.
func (i *Instance) locationID() uint64 { return i.location }

// Join adds an instance, as a follower. A joined instance may join again, under a different name or in a different
// location.
func (r *Rollout) Join(at At, i *Instance, name, location, attributes string) Answer {
	if name == "" || !codec.FitText(kind.MaxText, name) || len(attributes) > kind.MaxAttributes {
		return refuse(protocol.StatusBadRequest,
			"an instance name has 1 to %d bytes, and attributes have at most %d", kind.MaxText, kind.MaxAttributes)
	}
	l := r.Find(location)
	if l == nil {
		return refuse(protocol.StatusPreconditionFailed, "location %q does not exist; existing locations: %s",
			location, strings.Join(r.names(), ", "))
	}
	holder := r.byName[name]
	if holder != nil && holder != i {
		a := refuse(protocol.StatusAlreadyExists, "a different session has joined as %s", name)
		a.Holder = holder
		return a
	}
	if holder == i && i.location == l.ID {
		if i.Attributes != attributes {
			if !at.mayGrow(len(attributes) - len(i.Attributes)) {
				return noRoom()
			}
			i.Attributes = attributes
			r.changeInstance(at, i)
		}
		r.run(at, false)
		return Answer{}
	}
	now := Instance{
		ID: i.ID, Name: name, Location: l.Spec.Name, Attributes: attributes, Since: clock.Moment(at.Now),
		location: l.ID, live: true,
	}
	if !i.live && len(r.byName) >= kind.MaxInstances {
		return refuse(protocol.StatusPreconditionFailed, "%d instances have joined already", kind.MaxInstances)
	}
	if !at.mayGrow(now.Size() - i.Size()) {
		return noRoom()
	}
	if i.live {
		r.recount(at, i, -1)
		delete(r.byName, i.Name)
		r.changeInstance(at, i) // the instance leaves its location's rows
	}
	*i = now
	r.byName[name] = i
	r.recount(at, i, +1)
	r.changeInstance(at, i)
	r.run(at, true)
	return Answer{}
}

// Leave removes an instance: the instance left, or its session ended.
func (r *Rollout) Leave(at At, i *Instance) Answer {
	if !i.live {
		return notJoined()
	}
	r.recount(at, i, -1)
	delete(r.byName, i.Name)
	i.live = false
	r.changeInstance(at, i)
	r.run(at, true)
	return Answer{}
}

// SetRole makes an instance a leader or a follower.
func (r *Rollout) SetRole(at At, i *Instance, role Role) Answer {
	if role >= roles {
		return refuse(protocol.StatusBadRequest, "the role is unknown")
	}
	if a := r.takesPart(i); a.Status != protocol.StatusSuccess {
		return a
	}
	if i.Role == role {
		r.run(at, false)
		return Answer{}
	}
	r.recount(at, i, -1)
	i.Role = role
	r.recount(at, i, +1)
	r.changeInstance(at, i)
	r.run(at, true)
	return Answer{}
}

// Report records an instance's report.
func (r *Rollout) Report(at At, i *Instance, report Report) Answer {
	a := r.checkReport(at, i, &report)
	if a.Status != protocol.StatusSuccess {
		return a
	}
	r.run(at, r.record(at, i, &report))
	return Answer{}
}

// Ask is a report that returns the target (GetTargetState in the source document, see DESIGN.md). If a leader asks in a
// location that is ready for its next version, the source is asked at once.
func (r *Rollout) Ask(at At, i *Instance, report Report) (Answer, Target) {
	a := r.checkReport(at, i, &report)
	if a.Status != protocol.StatusSuccess {
		return a, Target{}
	}
	l := r.byID(i.location)
	r.run(at, r.record(at, i, &report))
	if r.asksSource(i, l) && r.wants(at.Now) {
		r.openTicket(at)
		r.due = r.nextDue(at.Now)
	}
	t := r.targetOf(l, at.Now)
	if t.Generation > i.Sent {
		// No decision depends on the target yet: the instance's last report is about an earlier generation.
		i.Sent, i.Received = t.Generation, clock.Moment(at.Now)
		r.changeInstance(at, i)
	}
	return Answer{Seq: t.Seq, Generation: t.Generation}, t
}

// changesNothing reports whether a report, or an Ask, may be answered without a command: its content is known already,
// and time has changed nothing since.
func (r *Rollout) changesNothing(now uint64, i *Instance, report *Report, ask bool) bool {
	if !i.live || i.Report != *report || r.due != 0 && now >= r.due {
		return false
	}
	l := r.byID(i.location)
	if l == nil {
		return false
	}
	if !ask {
		return true
	}
	t := l.Target()
	return (t == nil || t.Generation <= i.Sent) && !(r.asksSource(i, l) && r.wants(now))
}

// asksSource reports whether an instance's Ask makes the shard ask the source.
func (r *Rollout) asksSource(i *Instance, l *Location) bool {
	return r.rules.Versions == kind.Asked && l == r.entry() && (i.Role == Leader || l.Target() == nil)
}

func notJoined() Answer {
	return refuse(protocol.StatusNotFound, "the instance has not joined, or its session is over: join again")
}

// takesPart refuses commands from an instance that has not joined, or whose location was deleted.
func (r *Rollout) takesPart(i *Instance) Answer {
	if !i.live {
		return notJoined()
	}
	if r.byID(i.location) == nil {
		return refuse(protocol.StatusPreconditionFailed, "location %s was removed; join again in an existing "+
			"location: %s", i.Location, strings.Join(r.names(), ", "))
	}
	return Answer{}
}

func (r *Rollout) checkReport(at At, i *Instance, report *Report) Answer {
	if report.Status >= kind.Statuses || len(report.Code) > kind.MaxWord ||
		!codec.FitText(kind.MaxText, report.Code, report.Text) ||
		report.Status != kind.Failed && report.Code != "" {
		return refuse(protocol.StatusBadRequest, "a report has a status, a code with at most %d bytes and a text "+
			"with at most %d", kind.MaxWord, kind.MaxText)
	}
	if a := r.takesPart(i); a.Status != protocol.StatusSuccess {
		return a
	}
	given := uint64(0)
	if t := r.byID(i.location).Target(); t != nil {
		given = t.Generation
	}
	switch {
	case report.Generation > given:
		return refuse(protocol.StatusBadRequest, "%s has had no generation %d; the last is %d", i.Location,
			report.Generation, given)
	case report.Generation < i.Generation:
		a := Answer{Status: protocol.StatusFenced, Text: "the instance has reported a later generation"}
		a.Generation = i.Generation
		return a
	case !at.mayGrow(len(report.Code) + len(report.Text) - len(i.Code) - len(i.Text)):
		return noRoom()
	}
	return Answer{}
}

// record records a report, and reports whether it may unblock something.
func (r *Rollout) record(at At, i *Instance, report *Report) (moves bool) {
	l := r.byID(i.location)
	if i.Report == *report {
		return false
	}
	before := l.evidence()
	counts := l.Counts
	l.take(i, -1)
	if i.Status != report.Status || i.Generation != report.Generation {
		i.Since = clock.Moment(at.Now)
	}
	i.Report = *report
	if report.Generation > i.Sent {
		i.Sent, i.Received = report.Generation, clock.Moment(at.Now)
	}
	i.signal = signalOf(&r.rules.Reelect, report)
	l.take(i, +1)
	if l.Counts != counts {
		r.changeLocation(at, l)
	}
	r.changeInstance(at, i)
	return l.evidence() != before
}

func signalOf(re *kind.Reelect, report *Report) signal {
	if report.Status != kind.Failed {
		return signalNone
	}
	if slices.Contains(re.Codes, report.Code) {
		return signalCode
	}
	if report.Attempts > uint64(re.Attempts) {
		return signalTries
	}
	return signalNone
}

func (r *Rollout) changeInstance(at At, i *Instance) {
	i.Revision = at.Revision
	at.changeRow(instanceRow(i))
}

// recount adds an instance to its location (+1) or removes it (-1), if the location still exists.
func (r *Rollout) recount(at At, i *Instance, n int) {
	l := r.byID(i.location)
	if l == nil {
		return
	}
	l.Counts.Instances += n
	if i.Role == Leader {
		l.Counts.Leaders += n
	}
	l.take(i, n)
	r.changeLocation(at, l)
}
