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
	locations []*Location // in spec order
	versions  []*Version  // by seq

	// Counters never go back.
	lastSeq, generation, lastLocation, lastTicket, lastAct uint64

	paused, halted Stop
	resumed        uint64 // timestamp of the last resume
	sources        []Source
	ticket         Ticket
	asked          uint64 // timestamp of the last request to the source
	declined       string // the source's text when it last declined
	audit          []Audit
	due            uint64 // time when time alone changes something; 0 is never
	fence          uint64 // the highest fencing token among published versions

	// Revisions of the last changes to the head, the spec and the ticket.
	headRevision, specRevision, ticketRevision uint64

	// Derived from the fields above.
	byName   map[string]*Instance
	payloads int
	size     int
}

// At is a command's time.
type At struct {
	Now uint64 // shard time in milliseconds
	// Wall is a host's wall clock, in milliseconds since 1970, 0 if unknown. It is informational and affects no
	// decision.
	Wall uint64
	// Revision is the revision the command's changes get.
	Revision uint64
	// Out collects the command's effects.
	Out *Effects
	// Room, if not nil, is asked before a command's first change if the command adds bytes.
	Room Room
}

// Room reports whether a quota allows more bytes.
type Room interface {
	MayGrow(bytes int) bool
}

// mayGrow reports whether the quota allows the bytes that a command adds directly. Further changes that the rules
// derive from the command are not checked, because fixed limits bound them.
func (at At) mayGrow(bytes int) bool { return bytes <= 0 || at.Room == nil || at.Room.MayGrow(bytes) }

func noRoom() Answer {
	return refuse(protocol.StatusQuotaExceeded, "there is no room for it in a quota")
}

// Effects are the effects of commands. A caller reuses the value.
type Effects struct {
	// Changed is set once any saved field has changed.
	Changed bool
	Events  []Event
	// Rows are the view rows that changed or are gone.
	Rows []viewRow
}

// Reset empties the effects for the next command.
func (e *Effects) Reset() { e.Changed, e.Events, e.Rows = false, e.Events[:0], e.Rows[:0] }

// EventKind identifies an event type.
type EventKind uint8

// The event kinds.
const (
	eventAssigned      EventKind = 1 + iota // a location has a new target
	eventReached                            // a location has reached its target
	eventUnreached                          // a gate withdrew its pass
	eventAbandoned                          // a target was abandoned
	eventStuck                              // a target is unreached after the progress deadline
	eventHalted                             // the rollout halts
	eventVersionWanted                      // the source ID is asked for a version under the ticket Seq
)

// Event is an effect for pushes, metrics and logs.
type Event struct {
	Kind       EventKind
	Location   string
	Seq        uint64
	Generation uint64
	Cause      kind.Cause
	Halt       kind.HaltReason
	ID         uint64
}

// Answer is a command's result.
type Answer struct {
	Status protocol.Status
	// Text is why the command was refused.
	Text string
	// Seq, Generation and Ticket are the numbers the command issued or refers to.
	Seq, Generation, Ticket uint64
	// Number is the caller's answer, if the answer is one number.
	Number uint64
	// Holder is the instance that already has the name.
	Holder *Instance
}

func refuse(status protocol.Status, format string, args ...any) Answer {
	return Answer{Status: status, Text: fmt.Sprintf(format, args...)}
}

// Stop is why a rollout is stopped: an operator paused it, or it halted.
type Stop struct {
	Since  uint64 // timestamp; 0 if the rollout is not stopped
	Reason kind.HaltReason
	// Location is the location that made the rollout halt.
	Location string
	By, Why  string
}

// New creates a rollout. No location has a target yet.
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

// Spec returns the rollout's spec.
func (r *Rollout) Spec() kind.Spec {
	s := r.rules
	for _, l := range r.locations {
		s.Locations = append(s.Locations, l.Spec)
	}
	return s.Clone()
}

// Locations returns the locations in order; callers must not modify them.
func (r *Rollout) Locations() []*Location { return r.locations }

// Audit returns operator actions, oldest first.
func (r *Rollout) Audit() []Audit { return r.audit }

// Paused returns why an operator paused the rollout; Since is 0 if it is not paused.
func (r *Rollout) Paused() Stop { return r.paused }

// Halted returns why the rollout halted; Since is 0 if it has not halted.
func (r *Rollout) Halted() Stop { return r.halted }

// LastSeq is the newest version's number, kept or not.
func (r *Rollout) LastSeq() uint64 { return r.lastSeq }

// Generation is the last generation assigned to a target.
func (r *Rollout) Generation() uint64 { return r.generation }

// Instances is the number of joined instances.
func (r *Rollout) Instances() int { return len(r.byName) }

// Instance returns the instance with a name, nil for none.
func (r *Rollout) Instance(name string) *Instance { return r.byName[name] }

// Find returns the location with a name, nil for none.
func (r *Rollout) Find(name string) *Location { return find(r.locations, name) }

// LocationOf returns an instance's location, nil if the location is deleted.
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

// stopped reports whether the rollout is paused or halted, so nothing advances automatically.
func (r *Rollout) stopped() bool { return r.paused.Since != 0 || r.halted.Since != 0 }

// Deletable reports whether the rollout may be deleted: with force, or if no instance has joined.
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

// changeTicket marks the ticket, and the source list, as changed.
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
