package process

import (
	"slices"

	"github.com/signalbox/signalbox/shard/internal/form"
)

// A watch sees a view of a process: a head, and rows that are known by a number. The views are "", all of the process,
// whose rows are its members and, without their payloads, its results; and ViewResults, whose rows are the results.
const ViewResults = "results"

// What a row is about stands in the lowest bit of its number. The rest is an ID of a member or an epoch: no two of them
// are equal.
const (
	rowOfMember uint64 = 0
	rowOfResult uint64 = 1

	rowBits = 1
)

func memberRow(id uint64) uint64    { return id<<rowBits | rowOfMember }
func resultRow(epoch uint64) uint64 { return epoch<<rowBits | rowOfResult }

// IsView reports whether there is a view of that name.
func IsView(name string) bool { return name == "" || name == ViewResults }

// InView reports whether a row of Effects is one of the view.
func InView(name string, row uint64) bool { return name == "" || row&rowOfResult != 0 }

// Head is the head of the view of everything.
type Head struct {
	Spec                     Spec
	Epoch                    uint64
	State                    State
	Since, Opened, Changed   uint64 // moments
	Opens                    uint64 // shard time
	Coordinator, Members, Of uint64 // Members of the process, Of of the epoch
	LastResult               uint64 // its epoch
	Audit                    []Audit
}

func (p *Process) head() Head {
	return Head{
		Spec: p.spec, Epoch: p.epoch, State: p.state, Since: p.since, Opened: p.opened, Changed: p.changed,
		Opens: p.opens, Coordinator: p.coordinator, Members: uint64(len(p.members)), Of: uint64(len(p.view)),
		LastResult: p.lastResult(), Audit: p.audit,
	}
}

// AppendHead appends the head of a view. That of the results never changes.
func (p *Process) AppendHead(dst []byte, view string) []byte {
	c := form.Writer(dst)
	c.Form(formNumber)
	if view == "" {
		h := p.head()
		h.code(c)
	}
	return c.Data()
}

// ParseHead reads the head of the view of everything.
func ParseHead(src []byte) (h Head, err error) {
	c := form.Reader(src)
	c.Form(formNumber)
	h.code(c)
	return h, c.Finish("process: read a head")
}

func (h *Head) code(c *form.Coder) {
	h.Spec.code(c)
	c.Number(&h.Epoch)
	form.Enum(c, &h.State, states)
	c.Numbers(&h.Since, &h.Opened, &h.Changed, &h.Opens, &h.Coordinator, &h.Members, &h.Of, &h.LastResult)
	form.List(c, &h.Audit, MaxAudit, func(a *Audit) { a.code(c) })
}

// Row is a row of a view: a member, or a result.
type Row struct {
	Member *MemberRow
	Result *ResultRow
}

// MemberRow is what a row says of a member.
type MemberRow struct {
	ID                          uint64
	Name, Attributes            string
	Candidate                   bool
	Joined, Prepared, Completed uint64
}

// ResultRow is what a row says of a result. All of the process has no payloads, but their sizes.
type ResultRow struct {
	Epoch, At, Size uint64
	Payload         []byte
}

// AppendRow appends a row of a view; false where there is no such row.
func (p *Process) AppendRow(dst []byte, view string, row uint64) ([]byte, bool) {
	c := form.Writer(dst)
	c.Form(formNumber)
	id := row >> rowBits
	if row&rowOfResult != 0 {
		k := slices.IndexFunc(p.results, func(r *Result) bool { return r.Epoch == id })
		if k < 0 {
			return dst, false
		}
		r := p.results[k]
		body := ResultRow{Epoch: r.Epoch, At: r.At, Size: uint64(len(r.Payload))}
		if view != "" {
			body.Payload = r.Payload
		}
		body.code(c)
		return c.Data(), true
	}
	m := p.Member(id)
	if m == nil || view != "" {
		return dst, false
	}
	body := MemberRow{
		ID: m.ID, Name: m.Name, Attributes: m.Attributes, Candidate: m.Candidate, Joined: m.Joined,
		Prepared: m.Prepared, Completed: m.Completed,
	}
	body.code(c)
	return c.Data(), true
}

func (r *ResultRow) code(c *form.Coder) {
	c.Numbers(&r.Epoch, &r.At, &r.Size)
	c.Bytes(&r.Payload, MaxPayload)
}

func (r *MemberRow) code(c *form.Coder) {
	c.Number(&r.ID)
	c.Text(&r.Name, MaxText)
	c.Text(&r.Attributes, MaxAttributes)
	c.Flag(&r.Candidate)
	c.Numbers(&r.Joined, &r.Prepared, &r.Completed)
}

// ParseRow reads a row of a number.
func ParseRow(row uint64, src []byte) (r Row, err error) {
	c := form.Reader(src)
	c.Form(formNumber)
	if row&rowOfResult != 0 {
		r.Result = new(ResultRow)
		r.Result.code(c)
	} else {
		r.Member = new(MemberRow)
		r.Member.code(c)
	}
	return r, c.Finish("process: read a row")
}

// NextRow returns the first row of a view behind a number; false where there is none.
func (p *Process) NextRow(view string, after uint64) (row uint64, ok bool) {
	take := func(r uint64) {
		if r > after && (!ok || r < row) {
			row, ok = r, true
		}
	}
	if view == "" {
		if k, _ := p.place(after>>rowBits + 1); k < len(p.members) {
			take(memberRow(p.members[k].ID))
		}
	}
	for _, r := range p.results {
		take(resultRow(r.Epoch))
	}
	return row, ok
}
