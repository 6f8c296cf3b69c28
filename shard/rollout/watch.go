package rollout

import (
	"iter"
	"strings"

	"github.com/signalbox/signalbox/shard/internal/form"
)

// A watch sees a view of a rollout: its head, and rows that are known by a number. Each is known to have changed at a
// revision. Readers take what has changed since the revision that they know.
//
// The views are: "", the whole rollout, whose rows are its locations and versions; "location/NAME", for the instances
// of a location, which has a head alone, the target; "instances/NAME", whose rows are the instances of a location.
const (
	locationView  = "location/"
	instancesView = "instances/"
)

// What a row is about stands in the lowest bits of its number.
const (
	rowOfLocation uint64 = 0
	rowOfVersion  uint64 = 1
	rowOfInstance uint64 = 2

	rowBits = 2
)

func locationRow(id uint64) uint64 { return id<<rowBits | rowOfLocation }
func versionRow(seq uint64) uint64 { return seq<<rowBits | rowOfVersion }
func instanceRow(id uint64) uint64 { return id<<rowBits | rowOfInstance }

// View is what a watch looks at.
type View struct {
	whole     bool
	instances bool
	location  *Location
}

// View finds the view of a name; false where it does not exist. One that does not exist may come.
func (r *Rollout) View(name string) (View, bool) {
	if name == "" {
		return View{whole: true}, true
	}
	location, instances := strings.CutPrefix(name, instancesView)
	if !instances {
		var ok bool
		if location, ok = strings.CutPrefix(name, locationView); !ok {
			return View{}, false
		}
	}
	l := r.Find(location)
	return View{instances: instances, location: l}, l != nil
}

// HeadRevision is the revision at which the head of a view changed last.
func (r *Rollout) HeadRevision(v View) uint64 {
	switch {
	case v.whole:
		return r.headRevision
	case v.instances:
		return v.location.Revision
	}
	return v.location.TargetRevision
}

// AppendHead appends the head of a view.
func (r *Rollout) AppendHead(dst []byte, v View) []byte {
	c := form.Writer(dst)
	c.Form(formNumber)
	switch {
	case v.whole:
		r.codeHead(c)
	case v.instances:
		v.location.Counts.code(c)
	default:
		head := r.targetHead(v.location)
		head.code(c)
	}
	return c.Data()
}

// ViewEntry is one row of a view.
type ViewEntry struct {
	ID       uint64
	Revision uint64
	append   func(c *form.Coder)
}

// Append appends the row's body.
func (e ViewEntry) Append(dst []byte) []byte {
	c := form.Writer(dst)
	c.Form(formNumber)
	e.append(c)
	return c.Data()
}

// Rows returns the rows of a view. Instances are those of the caller, of all locations.
func (r *Rollout) Rows(v View, instances iter.Seq[*Instance]) iter.Seq[ViewEntry] {
	return func(yield func(ViewEntry) bool) {
		if v.whole {
			r.wholeRows(yield)
			return
		}
		if !v.instances || instances == nil {
			return
		}
		for i := range instances {
			if i.location == v.location.ID && r.joined(i) &&
				!yield(ViewEntry{ID: instanceRow(i.ID), Revision: i.Revision, append: i.code}) {
				return
			}
		}
	}
}

func (r *Rollout) wholeRows(yield func(ViewEntry) bool) {
	for _, l := range r.locations {
		if !yield(ViewEntry{ID: locationRow(l.ID), Revision: l.Revision, append: l.codeRow}) {
			return
		}
	}
	for _, v := range r.versions {
		if !yield(ViewEntry{ID: versionRow(v.Seq), Revision: v.Revision, append: v.codeRow}) {
			return
		}
	}
}

// TargetHead is the head of a location's view.
type TargetHead struct {
	Generation, Seq uint64
	Label           string
	Payload         []byte
}

func (r *Rollout) targetHead(l *Location) TargetHead {
	var head TargetHead
	if t := l.Target(); t != nil {
		head.Generation, head.Seq = t.Generation, t.Seq
		if v := r.Version(t.Seq); v != nil {
			head.Label, head.Payload = v.Label, v.Payload
		}
	}
	return head
}

func (h *TargetHead) code(c *form.Coder) {
	c.Numbers(&h.Generation, &h.Seq)
	c.Text(&h.Label, MaxText)
	c.Bytes(&h.Payload, MaxPayload)
}

// ParseTargetHead reads the head of a location's view.
func ParseTargetHead(src []byte) (h TargetHead, err error) {
	c := form.Reader(src)
	c.Form(formNumber)
	h.code(c)
	return h, c.Finish("rollout: read a target")
}

func (co *Counts) code(c *form.Coder) {
	for _, p := range []*int{&co.Instances, &co.Leaders, &co.Reached, &co.Failing} {
		v := uint64(*p)
		c.Number(&v)
		*p = int(v)
	}
}

// codeHead codes the whole rollout but for its locations and versions, which are rows.
func (r *Rollout) codeHead(c *form.Coder) {
	r.rules.code(c)
	c.Numbers(&r.lastSeq, &r.generation)
	r.paused.code(c)
	r.halted.code(c)
	c.Numbers(&r.ticket.Number, &r.ticket.Source, &r.ticket.Opened)
	c.Text(&r.declined, MaxText)
	form.List(c, &r.sources, MaxSources, func(s *Source) {
		c.Number(&s.ID)
		c.Text(&s.Name, MaxText)
	})
	form.List(c, &r.audit, MaxAudit, func(a *Audit) { a.code(c) })
}

// codeRow codes a location as the whole view has it: with its place in the order and its counts, and of its history the
// target alone.
func (l *Location) codeRow(c *form.Coder) {
	row := *l
	if n := len(row.History); n > 0 {
		row.History = row.History[n-1:]
	}
	place := uint64(l.index)
	c.Number(&place)
	row.code(c)
	row.Counts.code(c)
}

// codeRow codes a version as the whole view has it: without its payload, of which it has the length.
func (v *Version) codeRow(c *form.Coder) {
	c.Numbers(&v.Seq, &v.Published)
	c.Flag(&v.Withdrawn)
	size := uint64(len(v.Payload))
	c.Number(&size)
	c.Text(&v.Label, MaxText)
	c.Text(&v.Author, MaxText)
	form.List(c, &v.Abandoned, MaxLocations, func(id *uint64) { c.Number(id) })
}
