package plan

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
)

// bug is a planted bug, to be detected by the invariants.
type bug int

const (
	noBug             bug = iota
	bugTermIgnored        // reports of an old term's executor are accepted
	bugIDGivenTwice       // a finished step's id is reused
	bugFailuresForgot     // a new step resets its failure count
	bugNoBackoff          // a failed step is retried at once
	bugDoneUnseen         // an executor reports its actions instead of its observations
	bugSubjectShared      // a second step for a subject is begun
	bugTakenTwice         // a duplicate report is accepted twice
	bugs
)

// String names the bug.
func (b bug) String() string {
	return [...]string{"none", "term ignored", "id given twice", "failures forgotten", "no backoff", "done unseen",
		"subject shared", "report taken twice"}[b]
}

// verbs of commands.
const (
	doBegin = iota
	doProgress
	doRetry
	doFail
	doDone
	doCancel
)

// command is one log entry in flight.
type command struct {
	do       int
	term     uint64
	revision uint64
	step     []byte // of doBegin
	act      []byte // for all except doCancel
	to       Phase
	id       ID
}

// executor is one leader's executor, with its last view. After its term it may continue for a while.
type executor struct {
	term  uint64
	view  *view
	until map[Subject]uint64 // of the invariants, at the time of the view
}

// simulation is the world, the log, the leaders of several terms, and the invariants' memory.
type simulation struct {
	rng     *rand.Rand
	bug     bug
	cfg     *Config[move]
	planner *Planner[wishes, facts, move]

	plan     *Plan[move]
	state    wishes
	real     facts
	at       Moment
	led      bool
	commands []command
	changes  []change
	running  []*executor

	failures map[Subject]uint32
	until    map[Subject]uint64
	highest  ID
	phases   map[ID]Phase
	reached  map[ID]bool // steps observed to have reached their goal
	taken    map[Act]bool
	counts   map[string]int
}

func newSimulation(seed uint64, b bug) *simulation {
	s := &simulation{rng: rand.New(rand.NewPCG(seed, 7)), bug: b, cfg: newConfig(), planner: newPlanner(),
		state: wishes{map[host]bool{}}, real: newFacts(), at: Moment{Now: 1, Term: 0},
		failures: map[Subject]uint32{}, until: map[Subject]uint64{}, phases: map[ID]Phase{}, reached: map[ID]bool{},
		taken: map[Act]bool{}, counts: map[string]int{}}
	s.cfg.Open = 1 + s.rng.IntN(groups)
	s.plan = New(s.cfg)
	s.elect()
	return s
}

func (s *simulation) must(ok bool, format string, args ...any) {
	if !ok {
		panic(violation(fmt.Sprintf(format, args...)))
	}
}

type violation string

func (s *simulation) chance(percent int) bool { return s.rng.IntN(100) < percent }

// elect begins a term. The previous term's executor is unaware.
func (s *simulation) elect() {
	s.at.Term++
	s.led = true
	s.running = append(s.running, &executor{term: s.at.Term})
}

func (s *simulation) leader() *executor {
	if n := len(s.running); n > 0 && s.running[n-1].term == s.at.Term {
		return s.running[n-1]
	}
	return nil
}

// turn is one random event.
func (s *simulation) turn() {
	e := s.leader()
	switch n := s.rng.IntN(1000); {
	case n < 5:
		s.led = false // time stands still from here on
	case n < 15:
		s.elect()
	case n < 35 && len(s.running) > 0: // an executor dies, anywhere
		i := s.rng.IntN(len(s.running))
		s.running = slices.Delete(s.running, i, i+1)
	case n < 60:
		s.operate()
	case n < 200 && s.led:
		s.at.Now += uint64(s.rng.IntN(200))
	case (n < 450 || len(s.commands) > 8) && len(s.commands) > 0:
		s.deliver()
	case n < 600 && len(s.changes) > 0:
		s.change()
	case e == nil:
		s.running = append(s.running, &executor{term: s.at.Term})
	case n < 700:
		s.execute(s.running[s.rng.IntN(len(s.running))])
	default:
		s.execute(e)
	}
}

// operate is an action of operators and hosts.
func (s *simulation) operate() {
	h := host(s.rng.IntN(hosts))
	switch n := s.rng.IntN(10); {
	case n < 3 && len(s.state.drained) < 2:
		s.state.drained[h] = true
	case n < 5:
		delete(s.state.drained, h)
	case n < 6 && len(s.real.down) == 0:
		s.real.down[h] = true
	case n < 7:
		clear(s.real.down)
	case s.plan.Last() > 0:
		s.send(command{do: doCancel, id: ID(1 + s.rng.Uint64N(uint64(s.plan.Last())))})
	}
}

// execute lets an executor do one thing: look, plan, or continue a step.
func (s *simulation) execute(e *executor) {
	if e.view == nil || s.chance(40) {
		e.view = &view{State: wishes{maps.Clone(s.state.drained)}, Seen: s.real.clone(), Plan: s.plan.Clone(),
			Now: s.at.Now}
		e.until = maps.Clone(s.until)
		return
	}
	if steps := e.view.Plan.Steps(); len(steps) > 0 && s.chance(70) {
		s.work(e, &steps[s.rng.IntN(len(steps))])
		return
	}
	d := s.planner.Next(*e.view)
	s.must(reflect.DeepEqual(d, s.planner.Next(*e.view)), "two decisions by one view")
	if d.Step != nil {
		s.send(command{do: doBegin, term: e.term, revision: d.Revision, step: s.cfg.AppendProposal(nil, d.Step)})
	}
}

// work continues one step, as the executor sees it.
func (s *simulation) work(e *executor, step *Step[move]) {
	report := command{term: e.term, act: step.Act(e.term).Append(nil)}
	advice, to := s.planner.Assess(*e.view, step.ID)
	switch advice {
	case Report:
		report.do, report.to = doProgress, to
	case Finish:
		report.do = doDone
	case Perform:
		s.must(e.view.Now >= e.until[step.Subject], "step %d is tried again %d ms before its time", step.ID,
			e.until[step.Subject]-e.view.Now)
		c, safe := perform(step, e.view.Seen)
		if safe && s.chance(80) {
			s.changes = append(s.changes, c)
			if s.bug != bugDoneUnseen || !s.chance(20) {
				return
			}
			report.do = doDone
		} else if report.do = doRetry; !safe && s.chance(50) {
			report.do = doFail
		}
	default:
		return
	}
	s.send(report)
}

func (s *simulation) send(c command) { s.commands = append(s.commands, c) }

// change delivers a change to its engine: in any order, lost, or duplicated.
func (s *simulation) change() {
	i := s.rng.IntN(len(s.changes))
	c := s.changes[i]
	if !s.chance(15) {
		s.changes = slices.Delete(s.changes, i, i+1)
	}
	if s.chance(10) || !s.real.groups[c.group].apply(c) {
		return
	}
	s.counts["changes"]++
	m := s.real.groups[c.group]
	s.must(len(m.voters) >= wanted, "group %d has %d voters", c.group, len(m.voters))
	s.look()
}

// look records the steps that have reached their goal.
func (s *simulation) look() {
	v := view{State: s.state, Seen: s.real, Plan: s.plan, Now: s.at.Now}
	for i := range s.plan.steps {
		step := &s.plan.steps[i]
		if _, done := s.planner.kind(step.Kind).Reached(v, step); done {
			s.reached[step.ID] = true
		}
	}
}

// deliver applies one command of the log: in any order, lost, or duplicated.
func (s *simulation) deliver() {
	i := s.rng.IntN(len(s.commands))
	c := s.commands[i]
	if !s.chance(20) {
		s.commands = slices.Delete(s.commands, i, i+1)
	}
	if !s.chance(10) {
		s.apply(c)
		s.look()
	}
}

func (s *simulation) apply(c command) {
	before, revision := s.plan.Append(nil), s.plan.Revision()
	term := c.term
	if s.bug == bugTermIgnored {
		term = s.at.Term
	}
	var out Outcome
	if c.do == doBegin {
		out = s.begin(c, term)
	} else {
		out = s.report(c, term)
	}
	s.counts[out.String()]++
	s.must(c.do == doCancel || out != Applied || c.term == s.at.Term, "a command of term %d had an effect in term %d",
		c.term, s.at.Term)
	after := s.plan.Append(nil)
	s.must(out == Applied || bytes.Equal(before, after), "%s, and yet the plan has changed", out)
	s.must(out != Applied || s.plan.Revision() > revision || s.bug == bugSubjectShared, "the revision stays %d",
		revision)
	copied, err := Read(s.cfg, after)
	s.must(err == nil, "the plan cannot be read: %v", err)
	s.must(reflect.DeepEqual(copied.steps, s.plan.steps) || len(s.plan.steps) == 0, "the plan is read otherwise")
	s.must(bytes.Equal(copied.Append(nil), after) && s.plan.Size() == len(after), "the plan is written otherwise")
	s.check()
	if s.chance(10) {
		s.plan = copied // a restored replica continues
	}
}

func (s *simulation) begin(c command, term uint64) Outcome {
	pr, rest, err := s.cfg.ReadProposal(c.step)
	s.must(err == nil && len(rest) == 0, "a proposal cannot be read: %v", err)
	revision := c.revision
	if s.bug == bugSubjectShared {
		revision = s.plan.revision
	}
	id, out := s.plan.Begin(s.at, term, revision, pr)
	if s.bug == bugSubjectShared && out == Occupied && len(s.plan.steps) < s.cfg.Open {
		s.plan.last++
		s.plan.steps = append(s.plan.steps, Step[move]{ID: s.plan.last, Proposal: pr, Term: term})
		id, out = s.plan.last, Applied
	}
	if out == Applied {
		s.must(id > s.highest, "the id %d is given after %d", id, s.highest)
		s.highest = id
		s.must(s.at.Now >= s.until[pr.Subject], "%s begins again %d ms before its time", pr.Subject,
			s.until[pr.Subject]-s.at.Now)
	}
	return out
}

func (s *simulation) report(c command, term uint64) Outcome {
	if c.do == doCancel {
		return s.cancel(c.id)
	}
	token, rest, err := ReadAct(c.act)
	s.must(err == nil && len(rest) == 0, "an act cannot be read: %v", err)
	a := token
	a.Term = term
	step := s.plan.Step(a.Step)
	if step == nil {
		step = &Step[move]{}
	} else if s.bug == bugTakenTwice {
		a.Phase, a.Failures = step.Phase, step.Failures
	}
	subject := step.Subject
	var out Outcome
	switch c.do {
	case doProgress:
		out = s.plan.Progress(s.at, a, c.to)
	case doRetry:
		out = s.plan.Retry(s.at, a, "trouble")
	case doFail:
		out = s.plan.Fail(s.at, a, "trouble")
	case doDone:
		out = s.plan.Done(s.at, a)
	}
	if out != Applied {
		return out
	}
	token.Term = 0
	s.must(!s.taken[token], "the act %+v has an effect twice", token)
	s.taken[token] = true
	switch c.do {
	case doRetry, doFail:
		s.failures[subject]++
		s.until[subject] = s.at.Now + min(uint64(100)<<min(s.failures[subject]-1, 20), 3000) + 1
	case doDone:
		s.must(s.reached[a.Step], "step %d is done, and what it is for was never to be seen", a.Step)
		delete(s.failures, subject)
		delete(s.until, subject)
	}
	s.spoil(subject)
	return out
}

func (s *simulation) cancel(id ID) Outcome {
	step := s.plan.Step(id)
	if step == nil {
		return s.plan.Cancel(s.at.Now, id, "why", 0)
	}
	subject, hold := step.Subject, uint64(s.rng.IntN(300))
	if hold > 0 {
		s.until[subject] = max(s.until[subject], s.at.Now+hold+1)
	}
	out := s.plan.Cancel(s.at.Now, id, "why", hold)
	s.spoil(subject)
	return out
}

// spoil applies some planted bugs after an action.
func (s *simulation) spoil(subject Subject) {
	if s.bug == bugIDGivenTwice {
		s.plan.last = 0
		if n := len(s.plan.steps); n > 0 {
			s.plan.last = s.plan.steps[n-1].ID
		}
	}
	b, step := s.plan.Backoff(subject), (*Step[move])(nil)
	if i := slices.IndexFunc(s.plan.steps, func(x Step[move]) bool { return x.Subject == subject }); i >= 0 {
		step = &s.plan.steps[i]
	}
	switch {
	case s.bug == bugFailuresForgot && b != nil:
		b.Failures = 0
	case s.bug == bugFailuresForgot && step != nil:
		step.Failures = 0
	case s.bug == bugNoBackoff && b != nil:
		b.Until = 0
	case s.bug == bugNoBackoff && step != nil:
		step.NotBefore = 0
	}
}

// check compares the plan with the simulation's memory.
func (s *simulation) check() {
	s.must(len(s.plan.steps) <= s.cfg.Open, "%d steps are open", len(s.plan.steps))
	occupied := map[Subject]ID{}
	for _, step := range s.plan.steps {
		for _, subject := range append([]Subject{step.Subject}, step.With...) {
			s.must(occupied[subject] == 0, "steps %d and %d have %s", occupied[subject], step.ID, subject)
			occupied[subject] = step.ID
		}
		s.must(step.Phase >= s.phases[step.ID], "step %d went back to phase %d", step.ID, step.Phase)
		s.phases[step.ID] = step.Phase
		s.must(step.Failures == s.failures[step.Subject], "step %d counts %d failures of %d", step.ID, step.Failures,
			s.failures[step.Subject])
	}
	for _, b := range s.plan.backoffs {
		s.must(b.Failures == s.failures[b.Subject] && (b.Until >= s.until[b.Subject] || s.at.Now >= b.Until),
			"%s has %d failures of %d and waits until %d, not %d", b.Subject, b.Failures, s.failures[b.Subject],
			b.Until, s.until[b.Subject])
	}
}

// converge ends all faults, and checks that the planner reaches the operators' wishes, and then rests.
func (s *simulation) converge() {
	s.elect()
	s.running = s.running[len(s.running)-1:]
	s.commands, s.changes = nil, nil
	clear(s.real.down)
	e := s.leader()
	for range 4000 {
		e.view = nil
		s.execute(e)
		d := s.planner.Next(*e.view)
		if d.Step == nil && len(s.plan.Steps()) == 0 && d.Wake == 0 {
			s.must(len(d.Reasons) == 0, "nothing moves: %v", d.Reasons)
			for g, m := range s.real.groups {
				s.must(len(m.voters) == wanted && len(m.learners) == 0, "group %d comes to %v", g, m)
				for h := range m.voters {
					s.must(!s.state.drained[h], "group %d has a voter on the drained host %d", g, h)
				}
			}
			return
		}
		s.execute(e)
		for len(s.commands) > 0 {
			s.deliver()
		}
		for len(s.changes) > 0 {
			s.change()
		}
		s.at.Now += 100
	}
	s.must(false, "it does not come to rest")
}
