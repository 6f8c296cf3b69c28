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
	since       uint64 // timestamp of entering the state
	opened      uint64 // timestamp of opening the epoch
	coordinator uint64 // the coordinator's ID; the coordinator may have left
	// view has the IDs of the epoch's members, in order. It is empty after the epoch ends. A view is never modified:
	// each epoch has its own slice.
	view []uint64
	late bool // late unprepared members were reported

	changed uint64 // timestamp of the first change since the last epoch opened, 0 for none
	opens   uint64 // time when the next epoch opens, 0 if not scheduled

	exchanges    []*Exchange // by ID
	lastExchange uint64
	results      []*Result // oldest first
	audit        []Audit
	due          uint64 // time when time alone changes something, 0 for never
	revisions    revisions

	// Derived from the fields above.
	prepared, completed int // members in the view
	requests            int // in all inboxes
	held                int // exchange bytes
	size                int
}

// Caller is what a process needs from its caller during a command.
type Caller interface {
	// NextOrder returns a number above every earlier result and above every past and present member ID.
	NextOrder() uint64
	// touch is called before a member's saved fields first change.
	touch(m *Member)
	// MayGrow is called before a command's first change if the command adds bytes. It is not called for further changes
	// that the rules derive from the command, nor for replies, because fixed limits bound both.
	MayGrow(bytes int) bool
}

// At is a command's time and caller.
type At struct {
	Now uint64 // shard time in milliseconds
	// Wall is a host's wall clock, in milliseconds since 1970, 0 if unknown. It is informational and affects no
	// decision.
	Wall uint64
	// Revision is the revision the command's changes get.
	Revision uint64
	Caller   Caller
	// Out collects the command's effects.
	Out *Effects
}

// Effects are the effects of commands. A caller reuses the value.
type Effects struct {
	// Changed is set once any saved field has changed.
	Changed bool
	// Rows are the view rows that changed or are gone.
	Rows []uint64
	// Inbox are the members, each once, that have new inbox items, or whose acknowledgement makes capacity for pushing
	// later items.
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

// EventKind identifies an event type.
type EventKind uint8

// The event kinds.
const (
	eventOpened    EventKind = 1 + iota // an epoch opened
	eventRunning                        // all members are prepared
	eventComplete                       // the round is complete
	eventCancelled                      // an epoch ended before its round was complete
	eventFailed                         // a member failed the round
	eventKicked                         // a member was evicted
	eventLate                           // members have not answered within the reply timeout
)

// Event is an effect for pushes, metrics and logs.
type Event struct {
	Kind     EventKind
	Epoch    uint64
	Exchange uint64 // eventLate, 0 for unprepared members
	Member   uint64 // eventKicked and eventFailed
	Text     string // the cause
}

// Answer is a command's result.
type Answer struct {
	Status protocol.Status
	// Text is why the command was refused.
	Text string
	// Exchange is the exchange begun by a request. Epoch is the last epoch, for a command refused as fenced.
	Exchange, Epoch uint64
}

func refuse(status protocol.Status, format string, args ...any) Answer {
	return Answer{Status: status, Text: fmt.Sprintf(format, args...)}
}

func noRoomFor(what string) Answer {
	return refuse(protocol.StatusQuotaExceeded, "there is no room for %s in a quota", what)
}

// New creates a process without members.
func New(at At, spec kind.Spec, by kind.ChangeInfo) (*Process, Answer) {
	if a := checkAct(&spec, &by); a.Status != protocol.StatusSuccess {
		return nil, a
	}
	p := &Process{spec: spec, since: clock.Moment(at.Now), size: Bytes}
	p.revisions.spec, p.revisions.results = at.Revision, at.Revision
	p.remember(at, Audit{Verb: kind.ActionCreated, By: by})
	return p, Answer{}
}

// Spec returns the process's spec.
func (p *Process) Spec() kind.Spec { return p.spec }

// Epoch is the last epoch, 0 before the first. It is the round's fencing token.
func (p *Process) Epoch() uint64 { return p.epoch }

// Phase is the last epoch's phase.
func (p *Process) Phase() kind.Phase { return p.state }

// Since is the timestamp at which the process entered its phase.
func (p *Process) Since() uint64 { return p.since }

// Requests is the number of unacknowledged requests in all inboxes.
func (p *Process) Requests() int { return p.requests }

// Coordinator is the ID of the epoch's coordinator, which may have left.
func (p *Process) Coordinator() uint64 { return p.coordinator }

// Members returns the members in joining order; callers must not modify them.
func (p *Process) Members() []*Member { return p.members }

// View returns the IDs of an epoch's members; false if the epoch is over.
func (p *Process) View(epoch uint64) ([]uint64, bool) {
	return p.view, epoch == p.epoch && p.state != kind.Forming
}

// Results returns the kept results, oldest first; callers must not modify them.
func (p *Process) Results() []*Result { return p.results }

// Audit returns operator actions and failed rounds, oldest first.
func (p *Process) Audit() []Audit { return p.audit }

// Size is what the process counts in a byte quota, without its members.
func (p *Process) Size() int { return p.size }

// Member returns the member with an ID, nil for none.
func (p *Process) Member(id uint64) *Member {
	if k, ok := p.place(id); ok {
		return p.members[k]
	}
	return nil
}

func (p *Process) place(id uint64) (int, bool) {
	return slices.BinarySearchFunc(p.members, id, func(m *Member, id uint64) int { return cmp.Compare(m.ID, id) })
}

// seat returns a member's position in the view; false if the member is outside the epoch.
func (p *Process) seat(id uint64) (int, bool) { return slices.BinarySearch(p.view, id) }

// Deletable reports whether the process may be deleted: with force, or if it has no members.
func (p *Process) Deletable(force bool) Answer {
	if !force && len(p.members) > 0 {
		return refuse(protocol.StatusPreconditionFailed, "%d members have joined; delete with force", len(p.members))
	}
	return Answer{}
}

// setState enters a state.
func (p *Process) setState(at At, s kind.Phase) {
	p.state, p.since = s, clock.Moment(at.Now)
	p.changeHead(at)
}

// grow adds to the process size, in bytes.
func (p *Process) grow(at At, n int) {
	p.size += n
	at.Out.Grown += n
}

func (at At) event(e Event) {
	at.Out.Changed = true
	e.Text = codec.Cut(e.Text, kind.MaxText)
	at.Out.Events = append(at.Out.Events, e)
}
