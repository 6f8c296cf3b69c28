package rollout

import (
	"fmt"
	"slices"

	"github.com/signalbox/signalbox/protocol"
	kind "github.com/signalbox/signalbox/protocol/rollout"
	"github.com/signalbox/signalbox/shard/internal/codec"
)

// Rollout is one rollout. The exported methods with an At are its commands.
type Rollout struct {
	rules     kind.Spec   // without locations
	locations []*Location // in the order of the spec
	versions  []*Version  // by seq

	// Counters never go back.
	lastSeq, generation, lastLocation, lastTicket, lastAct uint64

	paused, halted Stop
	resumed        uint64 // moment of the last resume
	sources        []Source
	ticket         Ticket
	asked          uint64 // moment of the last question to the source
	declined       string // the last words of the source without a version
	audit          []Audit
	due            uint64 // time when time alone changes something; 0 is never
	fence          uint64 // the highest fencing token of a published version

	// The revisions of the last change: of the head, of the spec, of the ticket.
	headRevision, specRevision, ticketRevision uint64

	// Derived from the fields above.
	byName   map[string]*Instance
	payloads int
	size     int
}

// At is the time of a command.
type At struct {
	Now uint64 // shard time in milliseconds
	// Wall is the wall clock of a host, in milliseconds since 1970, 0 for an unknown time. It is recorded for people,
	// and decides nothing.
	Wall uint64
	// Revision is the revision of the changes of the command.
	Revision uint64
	// Out gets the effects of the command.
	Out *Effects
	// Room, if not nil, is asked before the first change of a command that brings more bytes.
	Room Room
}

// Room says whether a quota has room for so many more bytes.
type Room interface {
	MayGrow(bytes int) bool
}

// mayGrow asks for room for the bytes of a command itself. The consequences of the command by the rules need no
// question, because the limits bound the consequences.
func (at At) mayGrow(bytes int) bool { return bytes <= 0 || at.Room == nil || at.Room.MayGrow(bytes) }

func noRoom() Answer {
	return refuse(protocol.StatusQuotaExceeded, "there is no room for it in a quota")
}

// Effects are the effects of commands. A caller reuses the value.
type Effects struct {
	// Changed is set after a change of any saved field.
	Changed bool
	Events  []Event
	// Rows are the rows of views that changed or are gone.
	Rows []viewRow
}

// Reset empties the effects for the next command.
func (e *Effects) Reset() { e.Changed, e.Events, e.Rows = false, e.Events[:0], e.Rows[:0] }

// EventKind is the kind of an event.
type EventKind uint8

// The kinds of events.
const (
	eventAssigned      EventKind = 1 + iota // a location has a new target
	eventReached                            // a location has reached its target
	eventUnreached                          // a gate that had passed no longer does
	eventAbandoned                          // a target was given up
	eventStuck                              // a target is unreached after the progress deadline
	eventHalted                             // the rollout halts
	eventVersionWanted                      // the source ID is asked for a version under the ticket Seq
)

// Event is an effect of a command for pushes, metrics and logs.
type Event struct {
	Kind       EventKind
	Location   string
	Seq        uint64
	Generation uint64
	Cause      kind.Cause
	Halt       kind.HaltReason
	ID         uint64
}

// Answer is the result of a command.
type Answer struct {
	Status protocol.Status
	// Text says why the command was refused.
	Text string
	// Seq, Generation and Ticket are the numbers that the command gave or is about.
	Seq, Generation, Ticket uint64
	// Number is the answer of the caller, where the answer is one number.
	Number uint64
	// Holder is the instance that has the name already.
	Holder *Instance
}

func refuse(status protocol.Status, format string, args ...any) Answer {
	return Answer{Status: status, Text: fmt.Sprintf(format, args...)}
}

// Stop is why a rollout stands still: an operator paused the rollout, or the rollout halted.
type Stop struct {
	Since  uint64 // moment; 0 for a rollout that does not stand still
	Reason kind.HaltReason
	// Location is the location that made the rollout halt.
	Location string
	By, Why  string
}

// New makes a rollout. Nothing has a target yet.
func New(at At, spec kind.Spec, by kind.ChangeInfo) (*Rollout, Answer) {
	if wrong := spec.Check(); wrong != "" {
		return nil, refuse(protocol.StatusBadRequest, "%s", wrong)
	}
	if !codec.FitText(kind.MaxText, by.Author, by.Reason) {
		return nil, refuse(protocol.StatusBadRequest, "author or reason is too long")
	}
	r := &Rollout{byName: make(map[string]*Instance), ticketRevision: at.Revision}
	r.apply(at, spec.Clone())
	r.remember(at, kind.Action{Kind: kind.Created, By: by})
	r.resize()
	return r, Answer{}
}

// Spec returns the spec of the rollout.
func (r *Rollout) Spec() kind.Spec {
	s := r.rules
	for _, l := range r.locations {
		s.Locations = append(s.Locations, l.Spec)
	}
	return s.Clone()
}

// Locations returns the locations in their order, for reading.
func (r *Rollout) Locations() []*Location { return r.locations }

// Audit returns the acts of operators, the oldest first.
func (r *Rollout) Audit() []Audit { return r.audit }

// Paused and Halted return why the rollout stands still; their Since is 0 for a rollout that moves.
func (r *Rollout) Paused() Stop { return r.paused }

// Halted returns why the rollout halted.
func (r *Rollout) Halted() Stop { return r.halted }

// LastSeq is the number of the newest version, kept or not.
func (r *Rollout) LastSeq() uint64 { return r.lastSeq }

// Generation is the last generation given to a target.
func (r *Rollout) Generation() uint64 { return r.generation }

// Instances is the number of joined instances.
func (r *Rollout) Instances() int { return len(r.byName) }

// Instance returns the instance of a name, nil for none.
func (r *Rollout) Instance(name string) *Instance { return r.byName[name] }

// Find returns the location of a name, nil for none.
func (r *Rollout) Find(name string) *Location { return find(r.locations, name) }

// LocationOf returns the location of an instance, nil for a location that is gone.
func (r *Rollout) LocationOf(i *Instance) *Location { return r.byID(i.location) }

func (r *Rollout) byID(id uint64) *Location {
	return first(r.locations, func(l *Location) bool { return l.ID == id })
}

// names lists the locations for refusals.
func (r *Rollout) names() []string {
	var list []string
	for _, l := range r.locations {
		list = append(list, l.Spec.Name)
	}
	return list
}

// stopped reports whether nothing moves by itself.
func (r *Rollout) stopped() bool { return r.paused.Since != 0 || r.halted.Since != 0 }

// Deletable says whether the rollout may be deleted: with force, or when no instance has joined.
func (r *Rollout) Deletable(force bool) Answer {
	if !force && len(r.byName) > 0 {
		return refuse(protocol.StatusPreconditionFailed, "%d instances have joined; delete with force", len(r.byName))
	}
	return Answer{}
}

// changeHead marks the head of the whole rollout as changed.
func (r *Rollout) changeHead(at At) { r.headRevision, at.Out.Changed = at.Revision, true }

// changeLocation marks a location's row as changed.
func (r *Rollout) changeLocation(at At, l *Location) {
	if row := locationRow(l.ID); l.Revision != at.Revision || !slices.Contains(at.Out.Rows, row) {
		l.Revision = at.Revision
		at.changeRow(row)
	}
}

// changeTicket marks the question to the source, and the list of sources, as changed.
func (r *Rollout) changeTicket(at At, t Ticket) {
	if r.ticket != t {
		r.ticket, r.ticketRevision = t, at.Revision
	}
	r.changeHead(at)
}

func (at At) changeRow(row viewRow) {
	at.Out.Rows = append(at.Out.Rows, row)
	at.Out.Changed = true
}

func (at At) event(e Event) {
	at.Out.Events = append(at.Out.Events, e)
	at.Out.Changed = true
}
