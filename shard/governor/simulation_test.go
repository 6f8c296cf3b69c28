package governor

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/hosts"
	"github.com/signalbox/signalbox/shard/plan"
	"github.com/signalbox/signalbox/shard/slots"
)

// commands of executors
const (
	doBegin = iota
	doKnown
	doRetry
	doDone
	doDrop
	doFailed
	doReach
	doCleared
	doSlow
	doAssign
	doServe
	doRetire
	doRestart
)

// command is a command in the meta shard's log, not yet applied.
type command struct {
	do       int
	term     uint64
	revision uint64
	proposal []byte
	act      plan.Act
	a        Action
	change   uint64
	members  []hosts.Member
	mark     SlowMark
	owner    slots.Owner
	text     string
}

// executor is the executor at one meta leader, with its last view. After its term it may continue for a while.
type executor struct {
	term  uint64
	self  shard.HostID
	began uint64
	view  *View
	alive map[shard.HostID]bool
	// voters are the engines' voters at the time of the view.
	voters map[hosts.ShardID]map[shard.HostID]bool
	behind map[uint64]int // of the learners then
	// paces has the time when each host's pace began, lagged the time when a host last lagged behind most hosts, and
	// looked the time when the executor took its view.
	paces  map[shard.HostID]paced
	lagged map[shard.HostID]uint64
	looked uint64
}

type paced struct {
	is    Pace
	since uint64
}

// simulation is a world with many faults for a while, and then none.
type simulation struct {
	*world
	planner  *planner
	lie      func(s *simulation, v *View) // changes the view of the rules for a planted bug
	noJudge  bool
	running  []*executor
	commands []command
	changes  []change
	begun    int
	states   int
	calm     bool
	part     bool // data shards may have replicas on a part of the hosts
	mark     func(View) *SlowMark
	moves    *moves    // nil if no slots move
	capacity *capacity // nil if no shards are added and removed
}

type planner = plan.Planner[*hosts.Records, *Seen, Action]

type violation string

func (s *simulation) must(ok bool, format string, args ...any) {
	if !ok {
		panic(violation(fmt.Sprintf(format, args...) + "\n" + s.String()))
	}
}

func newSimulation(seed uint64) *simulation {
	return &simulation{world: newWorld(seed), planner: Planner(), mark: NextSlowMark}
}

func (s *simulation) chance(percent int) bool { return !s.calm && s.IntN(100) < percent }

// leader returns the meta leader's executor, nil if there is no leader.
func (s *simulation) leader() *executor {
	e := s.engines[hosts.Meta]
	if e.leader == 0 {
		return nil
	}
	for _, x := range s.running {
		if x.term == s.term && x.self == e.leader {
			return x
		}
	}
	x := &executor{term: s.term, self: e.leader, began: s.now}
	s.running = append(s.running, x)
	return x
}

// turn is one random event.
func (s *simulation) turn() {
	if s.moves != nil {
		s.oneOwner()
		switch {
		case s.capacity != nil && s.IntN(12) == 0:
			s.resize()
			return
		case s.capacity == nil && s.IntN(12) == 0:
			s.order()
			return
		}
		if s.IntN(20) == 0 {
			s.offer()
		}
	}
	switch n := s.IntN(100); {
	case n < 5:
		s.fault()
	case n < 8:
		s.operate()
	case n < 10 && len(s.running) > 0: // an executor dies, anywhere
		i := s.IntN(len(s.running))
		s.running = slices.Delete(s.running, i, i+1)
	case n < 30:
		s.pass([]uint64{10, 200, 800, 3000}[s.IntN(4)])
	case n < 50 && len(s.commands) > 0:
		s.deliver()
	case n < 60 && len(s.changes) > 0:
		s.arrive()
	case n < 65 && len(s.running) > 0:
		s.execute(s.running[s.IntN(len(s.running))])
	default:
		if x := s.leader(); x != nil {
			s.execute(x)
		}
	}
}

// fault makes a machine die, stop, return, lose its directory, or fall behind; a new host replaces it.
func (s *simulation) fault() {
	m := s.machines[s.IntN(len(s.machines))]
	switch s.IntN(8) {
	case 0, 1:
		if s.others(m) {
			m.up, m.stopping = false, 0
		}
	case 2:
		if m.up && m.stopping == 0 {
			m.stopping = s.now + 3000
		}
	case 3:
		if s.others(m) && m.id != 0 && !m.wiped {
			m.up, m.wiped, m.stopping = false, true, 0
			next := s.machine(true)
			next.name, next.replaces, next.up, next.boot = m.name, m.name, true, 1
			s.tally["wiped"]++
		}
	case 4:
		s.slow[m.id] = !s.slow[m.id]
	default:
		s.start(m)
	}
}

// others reports whether every shard has a voter majority on other machines with intact directories. Worse faults are
// beyond the governor.
func (s *simulation) others(m *machine) bool {
	for id, e := range s.engines {
		if s.records.Shard(id).Phase == hosts.ShardAdded {
			continue
		}
		n, voters := 0, e.voters()
		for h := range voters {
			if x := s.of(h); x != nil && x != m && !x.wiped {
				n++
			}
		}
		if 2*n <= len(voters) {
			return false
		}
	}
	return true
}

// operate is an operator's action.
func (s *simulation) operate() {
	m := s.machines[s.IntN(len(s.machines))]
	at := s.at()
	switch s.IntN(9) {
	case 0:
		if len(s.machines) < 12 {
			next := s.machine(true)
			next.up, next.boot = true, 1
		}
	case 1:
		s.tally["drain "+s.records.Drain(at, m.name).Status.String()]++
	case 2, 3:
		s.records.Undrain(at, m.name)
	case 4:
		s.records.Cordon(at, m.name, s.chance(40))
	case 5:
		if m.id != 0 && s.others(m) {
			s.tally["expel "+s.records.Expel(at, m.name, s.chance(60), 1000).Status.String()]++
		}
	case 6:
		s.tally["wish "+s.records.Transfer(at, hosts.ShardID(s.IntN(len(s.engines))), m.name).Status.String()]++
	case 7:
		p := s.records.Policy()
		to := p
		to.Voters = []int{0, 0, 3, 5}[s.IntN(4)]
		to.ReplaceAfter = []time.Duration{10 * time.Second, time.Minute}[s.IntN(2)]
		if s.part {
			to.Replicas = []int{0, 1, 3, 3, 5}[s.IntN(5)]
		}
		s.records.SetPolicy(at, p, to)
	case 8:
		if n := uint64(s.plan.Last()); n > 0 {
			s.plan.Cancel(s.now, plan.ID(1+s.Uint64N(n)), "an operator", 100)
		}
	}
}

// execute lets an executor do one thing: look, report a membership, plan, or continue a step.
func (s *simulation) execute(x *executor) {
	if x.view == nil || s.chance(30) {
		s.see(x)
		return
	}
	for _, shown := range x.view.Seen.Shards {
		if on := x.view.State.Shard(shown.Shard); shown.Leader != 0 && on.Change != shown.Change {
			e := s.engines[shown.Shard]
			if e != nil && e.change == shown.Change {
				s.send(command{do: doKnown, term: x.term, a: Action{Shard: shown.Shard}, change: e.change,
					members: e.list()})
			}
			return
		}
	}
	if m := s.mark(*x.view); m != nil {
		s.fair(x, m)
		s.send(command{do: doSlow, term: x.term, mark: *m})
		return
	}
	if steps := x.view.Plan.Steps(); len(steps) > 0 && s.IntN(100) < 70 {
		s.work(x, &steps[s.IntN(len(steps))])
		return
	}
	d := s.planner.Next(*x.view)
	s.states++
	s.must(reflect.DeepEqual(d, s.planner.Next(*x.view)), "two decisions by one view")
	if d.Step != nil {
		s.wise(x.view, d.Step)
		pr := Config().AppendProposal(nil, d.Step)
		s.send(command{do: doBegin, term: x.term, revision: d.Revision, proposal: pr})
	}
}

// wise compares a decision with DESIGN.md, based on the executor's view.
func (s *simulation) wise(v *View, pr *plan.Proposal[Action]) {
	h := v.State.Host(pr.Payload.Host)
	if h == nil {
		return
	}
	for _, on := range v.State.Shards() {
		p := on.On(pr.Payload.Host)
		if p == nil || !p.Member() {
			continue
		}
		if seen := v.Seen.shard(on.ID).replica(p.ID); pr.Kind == KindAdd && p.Role == hosts.RoleLearner {
			s.must(seen != nil && seen.BehindFor <= behindMillis,
				"host %d gets a learner of shard %d while one of shard %d is filled", h.ID, pr.Payload.Shard, on.ID)
		}
		leaves := pr.Kind == KindReach && h.Target.Reason == hosts.ReasonDrained && v.Seen.live(h.ID) &&
			h.Target.Variant == protocol.HostOffline
		s.must(!leaves || on.ID == hosts.Meta || v.State.Policy().Replicas == 0,
			"host %d is drained and has a replica of shard %d", h.ID, on.ID)
	}
}

// see lets an executor take a view.
func (s *simulation) see(x *executor) {
	seen, alive := s.look(x.self, x.began)
	x.alive, x.voters, x.behind = alive, map[hosts.ShardID]map[shard.HostID]bool{}, map[uint64]int{}
	for id, e := range s.engines {
		x.voters[id] = e.voters()
		for key, m := range e.members {
			x.behind[key] = m.behind
		}
	}
	v := &View{State: s.records.Clone(), Seen: seen, Plan: s.plan.Clone(), Now: s.now}
	if s.chance(10) { // a shard leader's report is late
		v.Seen.Shards[s.IntN(len(v.Seen.Shards))].Age = reportMillis
	}
	x.looked = s.now
	s.comparePaces(x, v)
	s.seeIdle(v)
	if s.lie != nil {
		s.lie(s, v)
	}
	x.view = v
}

// work continues one step, as the executor sees it.
func (s *simulation) work(x *executor, step *plan.Step[Action]) {
	advice, _ := s.planner.Assess(*x.view, step.ID)
	report := command{term: x.term, act: step.Act(x.term), a: step.Payload}
	if s.noJudge && advice == plan.Drop {
		advice = plan.Perform
	}
	switch advice {
	case plan.Finish:
		report.do = doDone
	case plan.Drop:
		report.do = doDrop
		s.tally["dropped"]++
	case plan.Perform:
		if s.chance(10) {
			report.do = doRetry
			break
		}
		s.perform(x, step)
		return
	default:
		return
	}
	s.send(report)
}

// perform acts for a step. It checks the rules against the real world, as far as the executor can know it.
func (s *simulation) perform(x *executor, step *plan.Step[Action]) {
	a := step.Payload
	h := x.view.State.Host(a.Host)
	switch step.Kind {
	case KindMoveSlot:
		s.move(x, step)
		return
	case KindServe, KindRetire, KindRestart:
		s.resized(x, step)
		return
	case KindFail:
		s.send(command{do: doFailed, term: x.term, a: a})
		return
	case KindReach:
		s.send(command{do: doReach, term: x.term, a: a})
		return
	case KindClear:
		if s.up(a.Host) {
			s.send(command{do: doCleared, term: x.term, a: a})
		}
		return
	case KindAdd, KindPromote:
		real := s.records.Host(a.Host)
		s.must(a.Shard == hosts.Meta && step.Kind == KindAdd || real == nil || !real.Cordoned ||
			real.Changed > h.Changed, "the cordoned host %d gets something", a.Host)
	}
	s.must(step.Kind != KindPromote || x.behind[a.Replica] == 0, "replica %d is not up to date", a.Replica)
	s.changes = append(s.changes, change{step.Kind, a, x.alive, x.voters[a.Shard]})
}

func (s *simulation) send(c command) { s.commands = append(s.commands, c) }

// arrive delivers a change to its engine: in any order, lost, or duplicated.
func (s *simulation) arrive() {
	i := s.IntN(len(s.changes))
	c := s.changes[i]
	if !s.chance(15) {
		s.changes = slices.Delete(s.changes, i, i+1)
	}
	if s.chance(10) {
		return
	}
	broken := s.apply(c)
	s.must(broken == "", "%s by %+v", broken, c)
}

// deliver applies one command of the log: in any order, lost, or duplicated.
func (s *simulation) deliver() {
	i := s.IntN(len(s.commands))
	c := s.commands[i]
	if !s.chance(15) {
		s.commands = slices.Delete(s.commands, i, i+1)
	}
	if s.chance(10) || s.engines[hosts.Meta].leader == 0 {
		return
	}
	s.commit(c)
	if !s.chance(10) {
		return
	}
	saved := s.records.Save(nil)
	loaded, err := hosts.Load(saved)
	s.must(err == nil && bytes.Equal(loaded.Save(nil), saved), "the records are loaded otherwise: %v", err)
	again, err := plan.Read(Config(), s.plan.Append(nil))
	s.must(err == nil && (len(again.Steps()) == 0 || reflect.DeepEqual(again.Steps(), s.plan.Steps())),
		"the plan is read otherwise: %v", err)
	s.records, s.plan = loaded, again
}

func (s *simulation) commit(c command) {
	at, m := s.at(), plan.Moment{Now: s.now, Term: s.term}
	switch c.do {
	case doBegin:
		pr, _, err := Config().ReadProposal(c.proposal)
		s.must(err == nil, "a proposal cannot be read: %v", err)
		_, out := Begin(at, s.records, s.plan, c.term, c.revision, pr)
		s.tally[out.String()]++
		if out == plan.Applied {
			s.begun++
			s.tally["began "+kindNames[pr.Kind]]++
			s.oneLarge()
		}
	case doKnown:
		s.records.Known(at, c.term, c.a.Shard, c.change, c.members)
	case doRetry:
		s.plan.Retry(m, c.act, "trouble")
	case doDone:
		s.plan.Done(m, c.act)
	case doDrop:
		s.plan.Drop(m, c.act)
	case doFailed:
		s.records.Failed(at, c.term, c.a.Host, c.a.Epoch, c.a.Reason, c.a.Text)
	case doReach:
		s.records.Reach(at, c.term, c.a.Host, c.a.Variant, c.a.Epoch)
	case doAssign:
		if a := s.records.AssignSlot(at, c.a.Slot, c.owner, c.text); a.Status == 0 && !a.Existed {
			s.tally[map[bool]string{true: "opened", false: "kept"}[c.owner.Generation == c.a.Number]]++
		}
	case doServe:
		s.records.MarkServing(at, c.term, c.a.Shard)
	case doRetire:
		if a := s.records.Retire(at, c.term, c.a.Shard); a.Status == 0 && !a.Existed {
			s.retired(c.a.Shard)
		}
	case doRestart:
		s.records.BeginAgain(at, c.term, c.a.Shard, c.a.Number, c.a.Host)
	case doSlow:
		if a := s.records.SetSlow(at, c.term, c.mark.Host, c.mark.Slow, c.mark.Text); a.Status == 0 && !a.Existed {
			s.tally[fmt.Sprintf("slow %t", c.mark.Slow)]++
		}
	case doCleared:
		if h := s.of(c.a.Host); h != nil {
			s.records.Cleared(at, c.a.Shard, c.a.Replica, h.incarnation)
		}
	}
	s.account()
}
