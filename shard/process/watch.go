package process

import "fmt"

// A watch sees a process view: a head, and numbered rows. Each view has the revision of its last change. Readers ask
// for the changes since a known revision.
//
// The views are "", the whole process, with its members and, without their payloads, its results as rows; and
// "results", without a head, with the results as rows. A change in the second view also changes the first view.

// The lowest bit in a row number distinguishes members from results. The rest is the member ID or the result's epoch:
// all numbers are distinct.
const (
	rowOfMember uint64 = 0
	rowOfResult uint64 = 1

	// RowBits is how many bits encode the row type.
	RowBits = 1
)

func memberRow(id uint64) uint64    { return id<<RowBits | rowOfMember }
func resultRow(epoch uint64) uint64 { return epoch<<RowBits | rowOfResult }

// revisions are the revisions of the last changes.
type revisions struct {
	whole, head, results, spec uint64
}

// WholeRevision is the revision at which the head or any row in the whole process last changed.
func (p *Process) WholeRevision() uint64 { return p.revisions.whole }

// HeadRevision is the revision at which the head of the whole process last changed.
func (p *Process) HeadRevision() uint64 { return p.revisions.head }

// ResultsRevision is the revision at which the results last changed.
func (p *Process) ResultsRevision() uint64 { return p.revisions.results }

// SpecRevision is the revision at which the spec last changed.
func (p *Process) SpecRevision() uint64 { return p.revisions.spec }

func (p *Process) changeHead(at At) {
	at.Out.Changed = true
	p.revisions.head, p.revisions.whole = at.Revision, at.Revision
}

func (p *Process) changeMember(at At, m *Member) { p.changeRow(at, memberRow(m.ID)) }

func (p *Process) changeResult(at At, r *Result) {
	p.revisions.results = at.Revision
	p.changeRow(at, resultRow(r.Epoch))
}

func (p *Process) changeRow(at At, row uint64) {
	at.Out.Changed = true
	p.revisions.whole = at.Revision
	at.Out.Rows = append(at.Out.Rows, row)
}

// Describe returns a one-line description, for tests and people.
func (p *Process) Describe() string {
	text := fmt.Sprintf("epoch %d %v since %d, opened %d, coordinator %d of %v, late %v, changed at %d, opens %d",
		p.epoch, p.state, p.since, p.opened, p.coordinator, p.view, p.late, p.changed, p.opens)
	text += fmt.Sprintf(", due %d, spec %+v, revisions %+v, last exchange %d", p.due, p.spec, p.revisions,
		p.lastExchange)
	for _, e := range p.exchanges {
		text += fmt.Sprintf("; exchange %d of %d in %d: %v, %d bytes, %d replies, waits for %d", e.id, e.from, e.epoch,
			e.outcome, len(e.payload), len(e.replies), e.missing)
	}
	for _, r := range p.results {
		text += fmt.Sprintf("; result of %d: %d bytes", r.Epoch, len(r.Payload))
	}
	return text + fmt.Sprintf("; %d acts", len(p.audit))
}

// Result returns an epoch's result, nil if discarded.
func (p *Process) Result(epoch uint64) *Result {
	for _, r := range p.results {
		if r.Epoch == epoch {
			return r
		}
	}
	return nil
}

// NextRow returns the first row behind a number, in the whole process or in the results alone; false if there is none.
func (p *Process) NextRow(results bool, after uint64) (row uint64, ok bool) {
	if k, _ := p.place(after>>RowBits + 1); !results && k < len(p.members) {
		row, ok = memberRow(p.members[k].ID), true
	}
	for _, r := range p.results {
		if of := resultRow(r.Epoch); of > after && (!ok || of < row) {
			return of, true
		}
	}
	return row, ok
}
