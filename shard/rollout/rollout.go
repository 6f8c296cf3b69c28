package rollout

import (
	"fmt"
	"slices"

	"github.com/signalbox/signalbox/protocol"
	kind "github.com/signalbox/signalbox/protocol/rollout"
	"github.com/signalbox/signalbox/shard/internal/form"
)

// Rollout is one rollout. Its exported methods that take an At are its commands.
type Rollout struct {
	rules     kind.Spec   // without its locations
	locations []*Location // in the order of the spec
	versions  []*Version  // by seq

	// Counters never go back.
	lastSeq, generation, lastLocation, lastTicket, lastAct uint64

	paused, halted Stop
	resumed        uint64 // moment of the last resume
	sources        []Source
	ticket         Ticket
	asked          uint64 // moment at which the source was asked last
	declined       string // what the source said when it had no version
	audit          []Audit
	due            uint64 // when time alone changes something; 0 is never
	fence          uint64 // the highest fencing token that a version was published under

	// The revisions of the last change: of the head, of the spec, of the ticket.
	headRevision, specRevision, ticketRevision uint64

	// What follows from the rest.
	byName   map[string]*Instance
	payloads int
	size     int
}

// At is when a command is carried out.
type At struct {
	Now uint64 // shard time in milliseconds
	// Wall is the wall clock of a host, in milliseconds since 1970, 0 where it is not known. It is written down for
	// people, and decides nothing.
	Wall uint64
	// Revision is what the changes of this command are known by.
	Revision uint64
	// KeepVerdicts: a pending verdict takes back none. Commands of earlier levels took it for a verdict like others.
	KeepVerdicts bool
	// Out gets what the command caused.
	Out *Effects
	// Room, if it is not nil, is asked before a command that brings more bytes changes anything.
	Room Room
}

// Room says whether there is room in a quota for so many bytes more.
type Room interface {
	MayGrow(bytes int) bool
}

// mayGrow asks for room for what a command brings itself. What follows from it by the rules is not asked about: the
// limits bound it.
func (at At) mayGrow(bytes int) bool { return bytes <= 0 || at.Room == nil || at.Room.MayGrow(bytes) }

func noRoom() Answer {
	return refuse(protocol.StatusQuotaExceeded, "there is no room for it in a quota")
}

// Effects is what commands caused. A caller reuses it.
type Effects struct {
	// Changed is set where anything that is saved changed.
	Changed bool
	Events  []Event
	// Rows are the rows of views that changed or are gone.
	Rows []ViewRow
}

// Reset empties it for the next command.
func (e *Effects) Reset() { e.Changed, e.Events, e.Rows = false, e.Events[:0], e.Rows[:0] }

// EventKind says what an event is about.
type EventKind uint8

// The kinds of events.
const (
	EventAssigned      EventKind = 1 + iota // a location has a new target
	EventReached                            // a location has reached its target
	EventUnreached                          // a gate that had passed no longer does
	EventAbandoned                          // a target was given up
	EventStuck                              // a target is not reached for longer than the progress deadline
	EventHalted                             // the rollout halts
	EventVersionWanted                      // the source ID is asked for a version under the ticket Seq
)

// Event is something that a command caused, for pushes, metrics and logs.
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
	// Text says what was wrong where it was refused.
	Text string
	// Seq, Generation and Ticket are what the command gave or is about.
	Seq, Generation, Ticket uint64
	// Number is what the caller answers, where it is one number.
	Number uint64
	// Holder is the instance that has the name already.
	Holder *Instance
}

func refuse(status protocol.Status, format string, args ...any) Answer {
	return Answer{Status: status, Text: fmt.Sprintf(format, args...)}
}

// Stop is why a rollout stands still: an operator paused it, or it halted.
type Stop struct {
	Since  uint64 // moment; 0 where it does not
	Reason kind.HaltReason
	// Location is where it halted by itself.
	Location string
	By, Why  string
}

// New makes a rollout. Nothing has a target yet.
func New(at At, spec kind.Spec, by kind.By) (*Rollout, Answer) {
	if wrong := spec.Check(); wrong != "" {
		return nil, refuse(protocol.StatusBadRequest, "%s", wrong)
	}
	if !form.FitText(kind.MaxText, by.Author, by.Reason) {
		return nil, refuse(protocol.StatusBadRequest, "author or reason is too long")
	}
	r := &Rollout{byName: make(map[string]*Instance), ticketRevision: at.Revision}
	r.apply(at, spec.Clone())
	r.remember(at, kind.Act{Verb: kind.Created, By: by})
	r.resize()
	return r, Answer{}
}

// Spec returns what the rollout was made or altered with.
func (r *Rollout) Spec() kind.Spec {
	s := r.rules
	for _, l := range r.locations {
		s.Locations = append(s.Locations, l.Spec)
	}
	return s.Clone()
}

// Locations returns the locations in their order. They are for reading.
func (r *Rollout) Locations() []*Location { return r.locations }

// Audit returns what operators did, the oldest first.
func (r *Rollout) Audit() []Audit { return r.audit }

// Paused and Halted return why the rollout stands still; their Since is 0 where it does not.
func (r *Rollout) Paused() Stop { return r.paused }

// Halted returns why the rollout halted.
func (r *Rollout) Halted() Stop { return r.halted }

// LastSeq is the number of the newest version there ever was.
func (r *Rollout) LastSeq() uint64 { return r.lastSeq }

// Generation is the last one that was given to a target.
func (r *Rollout) Generation() uint64 { return r.generation }

// Instances is how many have joined.
func (r *Rollout) Instances() int { return len(r.byName) }

// Instance returns the one of that name, nil where none has joined.
func (r *Rollout) Instance(name string) *Instance { return r.byName[name] }

// Find returns the location of that name, nil where there is none.
func (r *Rollout) Find(name string) *Location {
	for _, l := range r.locations {
		if l.Spec.Name == name {
			return l
		}
	}
	return nil
}

// LocationOf returns the location of an instance, nil where it is gone.
func (r *Rollout) LocationOf(i *Instance) *Location { return r.byID(i.location) }

func (r *Rollout) byID(id uint64) *Location {
	for _, l := range r.locations {
		if l.ID == id {
			return l
		}
	}
	return nil
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

// changeTicket marks the question to the source, and who could be asked, as changed.
func (r *Rollout) changeTicket(at At, t Ticket) {
	if r.ticket != t {
		r.ticket, r.ticketRevision = t, at.Revision
	}
	r.changeHead(at)
}

func (at At) changeRow(row ViewRow) {
	at.Out.Rows = append(at.Out.Rows, row)
	at.Out.Changed = true
}

func (at At) event(e Event) {
	at.Out.Events = append(at.Out.Events, e)
	at.Out.Changed = true
}
