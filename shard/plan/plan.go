package plan

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/signalbox/signalbox/shard/internal/codec"
)

// Config is the common part of plans with the same purpose. The config is equal on every replica, and is not part of
// the state.
type Config[P any] struct {
	// Open is how many steps may be open at once. Two open steps never share a subject.
	Open int
	// Delay is the back-off after a first failure, in milliseconds; it doubles with each further failure up to
	// MaxDelay.
	Delay, MaxDelay uint64
	// Attempts is how many failures a step may have and stay open. One more failure ends the step, so other steps can
	// go on.
	Attempts uint32
	// Append encodes a payload, Read decodes a payload. Equal payloads have equal bytes.
	Append func(dst []byte, payload P) []byte
	Read   func(src []byte) (payload P, err error)
}

// Validate checks the config.
func (c *Config[P]) Validate() error {
	switch {
	case c.Open < 1 || c.Open > MaxSteps:
		return fmt.Errorf("plan: %d open steps; 1 to %d are allowed", c.Open, MaxSteps)
	case c.Delay == 0 || c.MaxDelay < c.Delay:
		return fmt.Errorf("plan: a back-off of %d to %d ms; it begins above zero and grows", c.Delay, c.MaxDelay)
	case c.Append == nil || c.Read == nil:
		return errors.New("plan: a config without the form of payloads")
	}
	return nil
}

// Plan holds the open steps, and the memory of earlier steps: the last id, and the subjects with failures. A plan is
// part of a replicated state: the machine that applies the log owns the plan and calls its methods.
type Plan[P any] struct {
	cfg      *Config[P]
	last     ID
	revision uint64
	steps    []Step[P] // by id
	backoffs []Backoff // by subject; none for a subject with an open step
}

// New returns an empty plan. New panics if the config is invalid.
func New[P any](cfg *Config[P]) *Plan[P] {
	if err := cfg.Validate(); err != nil {
		panic(err)
	}
	return &Plan[P]{cfg: cfg}
}

// Renewed returns a plan without steps. Its numbers begin above all numbers that p can issue within a jump.
func (p *Plan[P]) Renewed(jump uint64) *Plan[P] {
	return &Plan[P]{cfg: p.cfg, last: p.last + ID(jump), revision: p.revision + jump}
}

// Clone returns an independent copy. Payloads are copied by assignment.
func (p *Plan[P]) Clone() *Plan[P] {
	c := *p
	c.steps, c.backoffs = slices.Clone(p.steps), slices.Clone(p.backoffs)
	return &c
}

// Revision grows with every plan change.
func (p *Plan[P]) Revision() uint64 { return p.revision }

// Last is the last issued id.
func (p *Plan[P]) Last() ID { return p.last }

// Steps are the open steps by id. The list belongs to the plan: callers may read it until the next act.
func (p *Plan[P]) Steps() []Step[P] { return p.steps }

// Step returns the open step with the id, or nil if the step is over or was never begun.
func (p *Plan[P]) Step(id ID) *Step[P] {
	if i := slices.IndexFunc(p.steps, func(s Step[P]) bool { return s.ID == id }); i >= 0 {
		return &p.steps[i]
	}
	return nil
}

// Begin opens a step. term is the proposing leader's term; revision is the plan's revision at decision time, so a
// proposal takes effect once, and never in a plan that has changed since.
func (p *Plan[P]) Begin(at Moment, term, revision uint64, pr Proposal[P]) (ID, Outcome) {
	switch {
	case term != at.Term:
		return 0, OtherTerm
	case revision != p.revision:
		return 0, Replanned
	case !p.fits(&pr):
		return 0, Unfit
	}
	if out, _ := p.admits(&pr, at.Now); out != Applied {
		return 0, out
	}
	if pr.Supersedes != 0 {
		p.remove(pr.Supersedes, at.Now)
		pr.Supersedes = 0
	}
	b := p.takeBackoff(pr.Subject)
	pr.With = slices.Clone(pr.With)
	p.last++
	p.revision++
	p.steps = append(p.steps, Step[P]{ID: p.last, Proposal: pr, Term: at.Term, Started: at.Now, Entered: at.Now,
		Failures: b.Failures, LastError: b.LastError, NotBefore: b.Until})
	return p.last, Applied
}

// fits validates a proposal against the rules that do not depend on state.
func (p *Plan[P]) fits(pr *Proposal[P]) bool {
	unfit := func(s Subject) bool { return s == "" || len(s) > MaxSubject }
	return !slices.ContainsFunc(subjects(pr), unfit) && pr.Kind != 0 && len(pr.With) <= MaxWith &&
		len(p.cfg.Append(nil, pr.Payload)) <= MaxPayload
}

// admits decides whether the plan accepts a proposal now. If an open step blocks the proposal, admits returns that
// step.
func (p *Plan[P]) admits(pr *Proposal[P], now uint64) (Outcome, *Step[P]) {
	var superseded *Step[P]
	if pr.Supersedes != 0 {
		if superseded = p.Step(pr.Supersedes); superseded == nil {
			return Over, nil
		}
	}
	open := 0
	for i := range p.steps {
		s := &p.steps[i]
		if s == superseded {
			continue
		}
		if open++; s.conflicts(pr) {
			return Occupied, s
		}
	}
	if open >= p.cfg.Open {
		return Occupied, nil
	}
	if b := p.Backoff(pr.Subject); b != nil && b.Until > now {
		return Waits, nil
	}
	return Applied, nil
}

// find returns an act's step, if the step is still as the executor read it.
func (p *Plan[P]) find(at Moment, a Act) (*Step[P], Outcome) {
	if a.Term != at.Term {
		return nil, OtherTerm
	}
	s := p.Step(a.Step)
	switch {
	case s == nil && (a.Step == 0 || a.Step > p.last):
		return nil, Unknown
	case s == nil:
		return nil, Over
	case s.Phase != a.Phase || s.Failures != a.Failures:
		return nil, Moved
	}
	return s, Applied
}

// Progress brings a step to a later phase.
func (p *Plan[P]) Progress(at Moment, a Act, to Phase) Outcome {
	s, out := p.find(at, a)
	if out != Applied {
		return out
	}
	if to <= s.Phase {
		return Unfit
	}
	s.Phase, s.Entered, s.Term = to, at.Now, at.Term
	p.revision++
	return Applied
}

// Retry records a failed attempt for a step that will be tried again. The step stays open, keeps its subjects, and
// waits. A step that has failed more often than Config.Attempts is over, as by Fail.
func (p *Plan[P]) Retry(at Moment, a Act, why string) Outcome {
	return p.fail(at, a, why, p.cfg.Attempts)
}

// Fail records that an attempt failed, and ends the step. The subject waits; then the rules decide again.
func (p *Plan[P]) Fail(at Moment, a Act, why string) Outcome {
	return p.fail(at, a, why, 0)
}

// fail records a failure, and ends a step with more failures than allowed.
func (p *Plan[P]) fail(at Moment, a Act, why string, allowed uint32) Outcome {
	s, out := p.find(at, a)
	if out != Applied {
		return out
	}
	if s.Failures < math.MaxUint32 {
		s.Failures++
	}
	s.LastError, s.Term = codec.Cut(why, MaxText), at.Term
	s.NotBefore = after(at.Now, p.cfg.delay(s.Failures))
	p.revision++
	if s.Failures > allowed {
		p.remove(s.ID, at.Now)
	}
	return Applied
}

// Done ends a step that has reached its goal, and clears its subject's failures.
func (p *Plan[P]) Done(at Moment, a Act) Outcome {
	s, out := p.find(at, a)
	if out != Applied {
		return out
	}
	s.Failures, s.NotBefore = 0, 0
	p.remove(s.ID, at.Now)
	return Applied
}

// Drop ends a step that is no longer wanted or allowed: no failure, and no success either.
func (p *Plan[P]) Drop(at Moment, a Act) Outcome {
	s, out := p.find(at, a)
	if out == Applied {
		p.remove(s.ID, at.Now)
	}
	return out
}

// Cancel ends a step in any phase, by order of an operator, who names the step by its id alone. The step's subject
// waits for at least hold milliseconds, because the rules would otherwise propose an equal step at once. An executor
// may be in the middle of an act, and the rules must handle its effects.
func (p *Plan[P]) Cancel(now uint64, id ID, why string, hold uint64) Outcome {
	s := p.Step(id)
	switch {
	case s == nil && (id == 0 || id > p.last):
		return Unknown
	case s == nil:
		return Over
	}
	if hold > 0 {
		s.NotBefore = max(s.NotBefore, after(now, hold))
	}
	s.LastError = codec.Cut("cancelled: "+why, MaxText)
	p.remove(id, now)
	return Applied
}

// remove removes an open step. Its failures, and an unexpired delay, stay with its subject.
func (p *Plan[P]) remove(id ID, now uint64) {
	i := slices.IndexFunc(p.steps, func(s Step[P]) bool { return s.ID == id })
	s := &p.steps[i]
	if s.Failures > 0 || s.NotBefore > now {
		p.putBackoff(Backoff{Subject: s.Subject, Failures: s.Failures, LastError: s.LastError, Since: now,
			Until: s.NotBefore})
	}
	p.steps = slices.Delete(p.steps, i, i+1)
	p.revision++
}
