package process

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/signalbox/signalbox/protocol"
	kind "github.com/signalbox/signalbox/protocol/process"
	"github.com/signalbox/signalbox/shard/clock"
	"github.com/signalbox/signalbox/shard/internal/form"
)

// Process is one coordination process. Its exported methods that take an At are its commands.
type Process struct {
	spec    kind.Spec
	members []*Member // by ID

	epoch       uint64 // the last that was opened, 0 before the first
	state       kind.Phase
	since       uint64 // moment from which the state is this
	opened      uint64 // moment at which the epoch opened
	coordinator uint64 // its ID; it may have left
	// view has the IDs of the epoch's members, in order. It is empty when the epoch has ended. No view is changed: each
	// epoch has a slice of its own.
	view []uint64
	late bool // that members are not prepared was reported

	changed uint64 // moment of the first change that no epoch has yet, 0 for none
	opens   uint64 // when the next epoch opens, 0 where it does not

	exchanges    []*Exchange // by ID
	lastExchange uint64
	results      []*Result // the oldest first
	audit        []Audit
	due          uint64 // when time alone changes something, 0 for never
	revisions    revisions

	// What follows from the rest.
	prepared, completed int // of the view
	requests            int // in all inboxes
	held                int // bytes of the exchanges
	size                int
}

// Caller is what a process needs of its caller during a command.
type Caller interface {
	// NextOrder returns a number that is above every one that it, and the ID of any member, ever was.
	NextOrder() uint64
	// Touch is called before anything of a member changes that is saved.
	Touch(m *Member)
	// MayGrow is asked before a command that brings more bytes changes anything. What follows from it by the rules is
	// not asked about, and replies are not: the limits bound them.
	MayGrow(bytes int) bool
}

// At is when, and for whom, a command is carried out.
type At struct {
	Now uint64 // shard time in milliseconds
	// Wall is the wall clock of a host, in milliseconds since 1970, 0 where it is not known. It is written down for
	// people, and decides nothing.
	Wall uint64
	// Revision is what the changes of this command are known by.
	Revision uint64
	Caller   Caller
	// Out gets what the command caused.
	Out *Effects
}

// Effects is what commands caused. A caller reuses it.
type Effects struct {
	// Changed is set where anything that is saved changed.
	Changed bool
	// Rows are the rows of views that changed or are gone.
	Rows []uint64
	// Inbox are the members that have something new in their inboxes, or room for what stands there behind what they
	// have acknowledged, each once.
	Inbox []*Member
	// Removed are those that were put out: they are members no more, and the caller forgets them.
	Removed []Removal
	Events  []Event
	// Grown is how many bytes the process and its members count for more than before. It leaves out what a member that
	// has joined or that is gone counts for as such, Member.Size.
	Grown int
}

// Removal is a member that was put out, by whom and why.
type Removal struct {
	*Member
	By kind.By
}

// Text says that to the member.
func (r *Removal) Text() string {
	text := "kicked"
	if r.By.Author != "" {
		text += " by " + r.By.Author
	}
	if r.By.Reason != "" {
		text += ": " + r.By.Reason
	}
	return text + "; join again"
}

// Reset empties it for the next command.
func (e *Effects) Reset() {
	for _, m := range e.Inbox {
		m.listed = false
	}
	clear(e.Inbox)
	clear(e.Removed)
	*e = Effects{
		Rows: e.Rows[:0], Inbox: e.Inbox[:0], Removed: e.Removed[:0], Events: e.Events[:0],
	}
}

// EventKind says what an event is about.
type EventKind uint8

// The kinds of events.
const (
	EventOpened    EventKind = 1 + iota // an epoch opened
	EventRunning                        // all members are prepared
	EventComplete                       // the round is complete
	EventCancelled                      // an epoch ended before its round was complete
	EventFailed                         // a member gave the round up
	EventKicked                         // a member was put out
	EventLate                           // members have not answered within the reply timeout
)

// Event is something that a command caused, for pushes, metrics and logs.
type Event struct {
	Kind     EventKind
	Epoch    uint64
	Exchange uint64 // of EventLate, 0 where members are not prepared
	Member   uint64 // of EventKicked and EventFailed
	Text     string // why
}

// Answer is the result of a command.
type Answer struct {
	Status protocol.Status
	// Text says what was wrong where it was refused.
	Text string
	// Exchange is the one that a request began, Epoch the last one that was opened, where the command is fenced.
	Exchange, Epoch uint64
}

func refuse(status protocol.Status, format string, args ...any) Answer {
	return Answer{Status: status, Text: fmt.Sprintf(format, args...)}
}

func noRoomFor(what string) Answer {
	return refuse(protocol.StatusQuotaExceeded, "there is no room for %s in a quota", what)
}

// New makes a process without members.
func New(at At, spec kind.Spec, by kind.By) (*Process, Answer) {
	if a := checkAct(&spec, &by); a.Status != protocol.StatusSuccess {
		return nil, a
	}
	p := &Process{spec: spec, since: clock.Moment(at.Now), size: Bytes}
	p.revisions.spec, p.revisions.results = at.Revision, at.Revision
	p.remember(at, Audit{Verb: kind.VerbCreated, By: by})
	return p, Answer{}
}

// Spec returns what the process was made or altered with.
func (p *Process) Spec() kind.Spec { return p.spec }

// Epoch is the last epoch that was opened, 0 before the first. It is the fencing token of its round.
func (p *Process) Epoch() uint64 { return p.epoch }

// Phase is how the last epoch is.
func (p *Process) Phase() kind.Phase { return p.state }

// Since is the moment from which the state is this.
func (p *Process) Since() uint64 { return p.since }

// Requests is how many requests there are in all inboxes that are not acknowledged.
func (p *Process) Requests() int { return p.requests }

// Coordinator is the ID of the epoch's coordinator, which may have left.
func (p *Process) Coordinator() uint64 { return p.coordinator }

// Members returns the members in the order in which they joined. They are for reading.
func (p *Process) Members() []*Member { return p.members }

// View returns the IDs of the members of an epoch; false where that epoch is over.
func (p *Process) View(epoch uint64) ([]uint64, bool) {
	return p.view, epoch == p.epoch && p.state != kind.Forming
}

// Results returns the results that are kept, the oldest first. They are for reading.
func (p *Process) Results() []*Result { return p.results }

// Audit returns what operators did, and rounds that failed, the oldest first.
func (p *Process) Audit() []Audit { return p.audit }

// Size is what the process counts for in a quota of bytes, without its members.
func (p *Process) Size() int { return p.size }

// Member returns the member of an ID, nil where there is none.
func (p *Process) Member(id uint64) *Member {
	if k, ok := p.place(id); ok {
		return p.members[k]
	}
	return nil
}

func (p *Process) place(id uint64) (int, bool) {
	return slices.BinarySearchFunc(p.members, id, func(m *Member, id uint64) int { return cmp.Compare(m.ID, id) })
}

// seat returns the place of a member in the view; false where it is not of the epoch.
func (p *Process) seat(id uint64) (int, bool) { return slices.BinarySearch(p.view, id) }

// Deletable says whether the process may be deleted: with force, or when it has no members.
func (p *Process) Deletable(force bool) Answer {
	if !force && len(p.members) > 0 {
		return refuse(protocol.StatusPreconditionFailed, "%d members have joined; delete with force", len(p.members))
	}
	return Answer{}
}

// setState begins a state.
func (p *Process) setState(at At, s kind.Phase) {
	p.state, p.since = s, clock.Moment(at.Now)
	p.changeHead(at)
}

// grow counts bytes of the process.
func (p *Process) grow(at At, n int) {
	p.size += n
	at.Out.Grown += n
}

func (at At) event(e Event) {
	at.Out.Changed = true
	e.Text = form.Cut(e.Text, kind.MaxText)
	at.Out.Events = append(at.Out.Events, e)
}
