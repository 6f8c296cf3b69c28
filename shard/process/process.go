package process

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/signalbox/signalbox/protocol"
	kind "github.com/signalbox/signalbox/protocol/process"
	"github.com/signalbox/signalbox/shard/clock"
	"github.com/signalbox/signalbox/shard/internal/codec"
)

// Process is one coordination process. The exported methods with an At are its commands.
type Process struct {
	spec    kind.Spec
	members []*Member // by ID

	epoch       uint64 // the last epoch, 0 before the first
	state       kind.Phase
	since       uint64 // moment from which the process is in the state
	opened      uint64 // moment at which the epoch opened
	coordinator uint64 // the coordinator's ID; the coordinator may have left
	// view has the IDs of the epoch's members, in order. It is empty after the end of the epoch. No view is changed:
	// each epoch has a slice of its own.
	view []uint64
	late bool // the lateness of unprepared members was reported

	changed uint64 // moment of the first change without an epoch yet, 0 for none
	opens   uint64 // time when the next epoch opens, 0 for no time

	exchanges    []*Exchange // by ID
	lastExchange uint64
	results      []*Result // the oldest first
	audit        []Audit
	due          uint64 // time when time alone changes something, 0 for never
	revisions    revisions

	// Derived from the fields above.
	prepared, completed int // of the view
	requests            int // in all inboxes
	held                int // bytes of the exchanges
	size                int
}

// Caller is the part of a process's caller that the process needs during a command.
type Caller interface {
	// NextOrder returns a number above every earlier result and above the ID of every member, past and present.
	NextOrder() uint64
	// touch is called before the first change of a saved field of a member.
	touch(m *Member)
	// MayGrow is called before the first change of a command that brings more bytes. It is not called for the
	// consequences of the command by the rules, nor for replies, because the limits bound both.
	MayGrow(bytes int) bool
}

// At is the time and the caller of a command.
type At struct {
	Now uint64 // shard time in milliseconds
	// Wall is the wall clock of a host, in milliseconds since 1970, 0 for an unknown time. It is recorded for people,
	// and decides nothing.
	Wall uint64
	// Revision is the revision of the changes of the command.
	Revision uint64
	Caller   Caller
	// Out gets the effects of the command.
	Out *Effects
}

// Effects are the effects of commands. A caller reuses the value.
type Effects struct {
	// Changed is set after a change of any saved field.
	Changed bool
	// Rows are the rows of views that changed or are gone.
	Rows []uint64
	// Inbox are the members, each once, with new items in their inboxes, or with an acknowledgement that makes room for
	// the pushes of later items.
	Inbox []*Member
	// Removed are the evicted members: they are no longer members, and the caller forgets them.
	Removed []removal
	Events  []Event
	// Grown is the growth of the process and its members in bytes. It leaves out the size (Member.Size) of a member
	// that has joined or is gone.
	Grown int
}

// removal is an evicted member, with author and reason.
type removal struct {
	*Member
	By kind.ChangeInfo
}

// Text explains the removal to the member.
func (r *removal) Text() string {
	text := "evicted"
	if r.By.Author != "" {
		text += " by " + r.By.Author
	}
	if r.By.Reason != "" {
		text += ": " + r.By.Reason
	}
	return text + "; join again"
}

// Reset empties the effects for the next command.
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

// EventKind is the kind of an event.
type EventKind uint8

// The kinds of events.
const (
	eventOpened    EventKind = 1 + iota // an epoch opened
	eventRunning                        // all members are prepared
	eventComplete                       // the round is complete
	eventCancelled                      // an epoch ended before its round was complete
	eventFailed                         // a member gave the round up
	eventKicked                         // a member was kicked
	eventLate                           // members have not answered within the reply timeout
)

// Event is an effect of a command for pushes, metrics and logs.
type Event struct {
	Kind     EventKind
	Epoch    uint64
	Exchange uint64 // of eventLate, 0 for unprepared members
	Member   uint64 // of eventKicked and eventFailed
	Text     string // the cause
}

// Answer is the result of a command.
type Answer struct {
	Status protocol.Status
	// Text says why the command was refused.
	Text string
	// Exchange is the exchange that a request began, Epoch the last epoch, after a fenced command.
	Exchange, Epoch uint64
}

func refuse(status protocol.Status, format string, args ...any) Answer {
	return Answer{Status: status, Text: fmt.Sprintf(format, args...)}
}

func noRoomFor(what string) Answer {
	return refuse(protocol.StatusQuotaExceeded, "there is no room for %s in a quota", what)
}

// New makes a process without members.
func New(at At, spec kind.Spec, by kind.ChangeInfo) (*Process, Answer) {
	if a := checkAct(&spec, &by); a.Status != protocol.StatusSuccess {
		return nil, a
	}
	p := &Process{spec: spec, since: clock.Moment(at.Now), size: Bytes}
	p.revisions.spec, p.revisions.results = at.Revision, at.Revision
	p.remember(at, Audit{Verb: kind.ActionCreated, By: by})
	return p, Answer{}
}

// Spec returns the spec of the process.
func (p *Process) Spec() kind.Spec { return p.spec }

// Epoch is the last epoch, 0 before the first. It is the fencing token of its round.
func (p *Process) Epoch() uint64 { return p.epoch }

// Phase is the state of the last epoch.
func (p *Process) Phase() kind.Phase { return p.state }

// Since is the moment from which the process is in its state.
func (p *Process) Since() uint64 { return p.since }

// Requests is the number of unacknowledged requests in all inboxes.
func (p *Process) Requests() int { return p.requests }

// Coordinator is the ID of the epoch's coordinator, which may have left.
func (p *Process) Coordinator() uint64 { return p.coordinator }

// Members returns the members in the order of joining, for reading.
func (p *Process) Members() []*Member { return p.members }

// View returns the IDs of the members of an epoch; false for an epoch that is over.
func (p *Process) View(epoch uint64) ([]uint64, bool) {
	return p.view, epoch == p.epoch && p.state != kind.Forming
}

// Results returns the kept results, the oldest first, for reading.
func (p *Process) Results() []*Result { return p.results }

// Audit returns the acts of operators, and failed rounds, the oldest first.
func (p *Process) Audit() []Audit { return p.audit }

// Size is the size of the process in a quota of bytes, without its members.
func (p *Process) Size() int { return p.size }

// Member returns the member of an ID, nil for none.
func (p *Process) Member(id uint64) *Member {
	if k, ok := p.place(id); ok {
		return p.members[k]
	}
	return nil
}

func (p *Process) place(id uint64) (int, bool) {
	return slices.BinarySearchFunc(p.members, id, func(m *Member, id uint64) int { return cmp.Compare(m.ID, id) })
}

// seat returns the place of a member in the view; false for a member outside of the epoch.
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
	e.Text = codec.Cut(e.Text, kind.MaxText)
	at.Out.Events = append(at.Out.Events, e)
}
