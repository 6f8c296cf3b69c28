package plan

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// ErrForm is wrapped if bytes are not an encoded plan, proposal or act.
var ErrForm = errors.New("plan: bad form")

// ErrNewer is wrapped if a record has a field unknown to this build: a replica must not go on without the field.
var ErrNewer = errors.New("plan: a newer build wrote a field of a record")

// Append appends the encoded plan: a counter record, the number of steps and the step records, the number of back-offs
// and the back-off records. Equal plans have equal bytes.
func (p *Plan[P]) Append(dst []byte) []byte {
	dst = (&record{id: uint64(p.last), revision: p.revision}).append(dst)
	dst = binary.AppendUvarint(dst, uint64(len(p.steps)))
	for i := range p.steps {
		dst = p.cfg.stepRecord(&p.steps[i]).append(dst)
	}
	dst = binary.AppendUvarint(dst, uint64(len(p.backoffs)))
	for _, b := range p.backoffs {
		r := record{subject: string(b.Subject), failures: uint64(b.Failures), lastError: b.LastError, entered: b.Since,
			notBefore: b.Until}
		dst = r.append(dst)
	}
	return dst
}

// Size is the size of the encoded plan, in bytes.
func (p *Plan[P]) Size() int { return len(p.Append(nil)) }

// Read decodes a plan, and validates everything the package relies on.
func Read[P any](cfg *Config[P], src []byte) (*Plan[P], error) {
	p := New(cfg)
	in := newInput(src)
	r := in.record(planFields)
	p.last, p.revision = ID(r.id), r.revision
	for range in.number(MaxSteps) {
		s, n := readStep(cfg, in, stepFields), len(p.steps)
		in.Must(s.ID > 0 && s.ID <= p.last && (n == 0 || s.ID > p.steps[n-1].ID), "the ids of its steps")
		in.Must(p.fits(&s.Proposal) && s.Supersedes == 0, "a step is beyond the limits")
		for i := range p.steps {
			in.Must(!p.steps[i].conflicts(&s.Proposal), "two steps of one subject")
		}
		p.steps = append(p.steps, s)
	}
	for range in.number(MaxBackoffs) {
		r, n := in.record(backoffFields), len(p.backoffs)
		b := Backoff{Subject: Subject(r.subject), Failures: uint32(r.failures), LastError: r.lastError,
			Since: r.entered, Until: r.notBefore}
		in.Must(b.Subject != "" && (n == 0 || b.Subject > p.backoffs[n-1].Subject), "the subjects of its back-offs")
		for i := range p.steps {
			in.Must(p.steps[i].Subject != b.Subject, "a back-off of an open step")
		}
		p.backoffs = append(p.backoffs, b)
	}
	in.End()
	if err := in.err(); err != nil {
		return nil, err
	}
	return p, nil
}

// AppendProposal appends an encoded proposal, for the command that begins the step.
func (c *Config[P]) AppendProposal(dst []byte, pr *Proposal[P]) []byte {
	return c.stepRecord(&Step[P]{Proposal: *pr}).append(dst)
}

// ReadProposal decodes a proposal, and returns the remaining bytes.
func (c *Config[P]) ReadProposal(src []byte) (Proposal[P], []byte, error) {
	in := newInput(src)
	s := readStep(c, in, proposalFields)
	return s.Proposal, in.Data, in.err()
}

// Append appends an encoded act, for the command that reports the act.
func (a Act) Append(dst []byte) []byte {
	r := record{id: uint64(a.Step), phase: uint64(a.Phase), failures: uint64(a.Failures), term: a.Term}
	return r.append(dst)
}

func (c *Config[P]) stepRecord(s *Step[P]) *record {
	return &record{id: uint64(s.ID), kind: uint64(s.Kind), subject: string(s.Subject), with: s.With,
		payload: string(c.Append(nil, s.Payload)), supersedes: uint64(s.Supersedes), phase: uint64(s.Phase),
		term: s.Term, started: s.Started, entered: s.Entered, failures: uint64(s.Failures), lastError: s.LastError,
		notBefore: s.NotBefore}
}

func readStep[P any](c *Config[P], in *input, may uint64) Step[P] {
	r := in.record(may)
	if !in.Sound() {
		return Step[P]{}
	}
	payload, err := c.Read([]byte(r.payload))
	if err != nil {
		in.fail(fmt.Errorf("%w: the payload of a step: %w", ErrForm, err))
	}
	pr := Proposal[P]{Kind: Kind(r.kind), Subject: Subject(r.subject), With: r.with, Payload: payload,
		Supersedes: ID(r.supersedes)}
	return Step[P]{ID: ID(r.id), Proposal: pr, Phase: Phase(r.phase), Term: r.term, Started: r.started,
		Entered: r.entered, Failures: uint32(r.failures), LastError: r.lastError, NotBefore: r.notBefore}
}
