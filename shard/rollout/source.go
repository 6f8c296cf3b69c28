package rollout

import (
	"slices"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/field"
	kind "github.com/signalbox/signalbox/protocol/rollout"
	"github.com/signalbox/signalbox/shard/clock"
	"github.com/signalbox/signalbox/shard/internal/codec"
)

// Source is a session that creates a version on request (generate_timestamp in the source document, see DESIGN.md).
type Source struct {
	ID   uint64 // set by the caller, never reused
	Name string
}

// Ticket is a request to a source. At most one is open.
type Ticket struct {
	Number uint64 // never reused; 0 without an open request
	Source uint64
	Opened uint64 // timestamp
}

// Sources returns the sources in arrival order; callers must not modify them.
func (r *Rollout) Sources() []Source { return r.sources }

// Ticket returns the open request; its Number is 0 if none is open.
func (r *Rollout) Ticket() Ticket { return r.ticket }

// addSource makes a session a source.
func (r *Rollout) addSource(at At, s Source) Answer {
	switch {
	case !codec.FitText(kind.MaxText, s.Name):
		return refuse(protocol.StatusBadRequest, "the name of a source has at most %d bytes", kind.MaxText)
	case r.sourceIndex(s.ID) >= 0:
		r.run(at, false)
		return Answer{}
	case len(r.sources) >= kind.MaxSources:
		return refuse(protocol.StatusPreconditionFailed, "there are %d sources already", kind.MaxSources)
	case !at.mayGrow(smallBytes + len(s.Name)):
		return noRoom()
	}
	r.sources = append(r.sources, s)
	r.changeHead(at)
	r.run(at, true)
	return Answer{}
}

// removeSource removes the role: the session gave it up, or has ended. An unanswered request to the source is void, and
// the next source is asked.
func (r *Rollout) removeSource(at At, id uint64) Answer {
	k := r.sourceIndex(id)
	if k < 0 {
		return refuse(protocol.StatusNotFound, "the session is no source")
	}
	r.sources = slices.Delete(r.sources, k, k+1)
	r.changeHead(at)
	if r.ticket.Source == id && r.ticket.Number != 0 {
		r.changeTicket(at, Ticket{})
		r.asked = 0
	}
	r.run(at, true)
	return Answer{}
}

func (r *Rollout) sourceIndex(id uint64) int {
	return slices.IndexFunc(r.sources, func(s Source) bool { return s.ID == id })
}

// Offer answers a ticket with a version. A ticket is answered once.
func (r *Rollout) Offer(at At, source, ticket uint64, p kind.Publication) Answer {
	if a := r.checkTicket(source, ticket); a.Status != protocol.StatusSuccess {
		return a
	}
	p.Compare, p.Fence = false, 0
	if a := r.addVersion(at, p); a.Status != protocol.StatusSuccess {
		return a
	}
	r.changeTicket(at, Ticket{})
	r.declined = ""
	r.run(at, true)
	return Answer{Seq: r.lastSeq}
}

// decline answers a ticket without a version. The source is asked again after the ask interval.
func (r *Rollout) decline(at At, source, ticket uint64, why string) Answer {
	if a := r.checkTicket(source, ticket); a.Status != protocol.StatusSuccess {
		return a
	}
	r.changeTicket(at, Ticket{})
	r.declined = codec.Cut(why, kind.MaxText)
	r.run(at, true)
	return Answer{}
}

func (r *Rollout) checkTicket(source, ticket uint64) Answer {
	if r.ticket.Number == 0 || ticket != r.ticket.Number || source != r.ticket.Source {
		return refuse(protocol.StatusFenced, "the ticket %d is not open for this source", ticket)
	}
	return Answer{}
}

// wants reports whether a source should be asked for a version: the first location is ready for a new version, and no
// version fits.
func (r *Rollout) wants(now uint64) bool {
	l := r.entry()
	if r.rules.Versions != kind.Asked || l == nil || l.Back != 0 || r.stopped() || r.ticket.Number != 0 ||
		len(r.sources) == 0 {
		return false
	}
	failing := r.failing(l, now)
	if !r.ready(l, failing) || r.newest(l, now) != 0 {
		return false
	}
	return !failing || l.mayReelect(&r.rules.Reelect, now)
}

// ask asks a source if a version is wanted and the last request is old enough.
func (r *Rollout) ask(at At) {
	if r.wants(at.Now) && (r.asked == 0 || clock.Over(r.asked, field.MillisOf(r.rules.AskInterval), at.Now)) {
		r.openTicket(at)
	}
}

func (r *Rollout) openTicket(at At) {
	r.lastTicket++
	r.changeTicket(at, Ticket{Number: r.lastTicket, Source: r.sources[0].ID, Opened: clock.Moment(at.Now)})
	r.asked = clock.Moment(at.Now)
	at.event(Event{Kind: eventVersionWanted, Seq: r.lastTicket, ID: r.ticket.Source})
}
