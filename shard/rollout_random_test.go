package shard

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/shard/rollout"
)

var (
	rolloutSeeds = flag.Uint64("rollout.seeds", 24, "how many random runs rollouts and their model are driven with")
	rolloutSeek  = flag.Uint64("rollout.seek", 0, "for each planted mistake, how many seeds to look through")
)

const rolloutSteps = 500

// rolloutRun drives a machine and the model with the same random commands.
type rolloutRun struct {
	*bed
	*rand.Rand
	model     *rolloutModel
	followers []*rowFollower
	tally     map[string]int
	tamper    func(r *rolloutRun, moment string) // a mistake
	saved     *rolloutSave
}

// rolloutSave is a snapshot that is saved some steps later, when the machine has moved on.
type rolloutSave struct {
	snapshot Snapshot
	state    State
	wait     int
}

func newRolloutRun(seed uint64, tally map[string]int) *rolloutRun {
	r := &rolloutRun{
		bed: newBed(0), Rand: rand.New(rand.NewPCG(seed, 5)), model: newRolloutModel(), tally: tally,
		tamper: func(*rolloutRun, string) {},
	}
	r.m = New(Options{History: 64, Bounds: Bounds{Work: 3}})
	for i := range 2 {
		for _, view := range []string{
			"", "source", "location/a", "location/b", "location/c", "instances/a", "instances/b",
		} {
			r.followers = append(r.followers, &rowFollower{
				ref: Ref{Kind: KindRollout, Node: 1, Name: rolloutName(i), View: view},
			})
		}
	}
	return r
}

func rolloutName(i int) string { return fmt.Sprintf("rollout-%d", i) }

// runRollouts plays a run and says what first went wrong.
func runRollouts(r *rolloutRun, steps int) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	r.do(Command{Kind: CmdLevel, Count: uint64(level.Newest) - 1})
	r.do(Command{Kind: CmdRolloutPut, Level: level.Newest, Node: 1, Name: []byte("early")})
	if e := r.result(); e.Status != protocol.StatusUnsupported {
		return fmt.Errorf("below its level a rollout is answered %v", e.Status)
	}
	r.do(Command{Kind: CmdLevel, Count: uint64(level.Newest)})
	r.at = level.Newest
	r.do(Command{Kind: CmdLead, Term: 1})
	for i := range steps {
		if err := r.step(); err != nil {
			return fmt.Errorf("step %d: %w", i, err)
		}
		r.tamper(r, "step")
		if err := r.check(r.m); err != nil {
			return fmt.Errorf("step %d: %w", i, err)
		}
		for _, f := range r.followers {
			if r.IntN(3) == 0 {
				if err := f.catchUp(r.m); err != nil {
					return fmt.Errorf("step %d: %w", i, err)
				}
			}
		}
		if err := r.snapshot(); err != nil {
			return fmt.Errorf("step %d: snapshot: %w", i, err)
		}
	}
	return nil
}

// step carries one command out, and compares its answer.
func (r *rolloutRun) step() error {
	r.model.now += uint64(r.IntN(40) * r.IntN(40))
	r.one.Stamp.Elapsed = r.model.now
	r.model.wall = 0
	ids := slices.Sorted(maps.Keys(r.model.sessions))
	switch n := r.IntN(60); {
	case len(ids) < 5 || n == 0:
		id := r.all(Command{Kind: CmdSessionCreate, Slot: Slot(r.IntN(Slots)), Node: 1}).Session
		if id != 0 {
			r.model.sessions[id] = &modelMutator{}
		}
	case n == 1:
		id, other := ids[r.IntN(len(ids))], ids[r.IntN(len(ids))]
		r.model.end(id)
		if other != id {
			r.model.end(other)
		}
		r.all(Command{Kind: CmdSessionsExpire, Term: 1, Sessions: []SessionID{id, other}})
	case n == 2 && r.IntN(8) == 0:
		r.model.drop()
		r.all(Command{Kind: CmdNodeDrop, Node: 1, Count: 3})
	case n == 3 || n == 4:
		r.model.limit = DefaultNodeBytes
		if r.IntN(4) == 0 {
			r.model.limit = r.model.bytes() + uint64(r.IntN(900))
		}
		r.all(Command{Kind: CmdNodeLimits, Node: 1, Bytes: r.model.limit})
	case n < 12:
		r.model.wall = uint64(r.IntN(100))
		r.model.due()
		r.all(Command{Kind: CmdDue, Term: 1, Time: r.model.wall})
	default:
		return r.mutate(ids[r.IntN(len(ids))])
	}
	return nil
}

// all carries a command out to its end, whatever stays pending meanwhile.
func (r *rolloutRun) all(c Command) *Effect {
	for {
		r.do(c)
		answer := *r.result()
		for r.m.Pending() > 0 {
			r.do(Command{Kind: CmdContinue})
		}
		if answer.Flags&FlagMore == 0 {
			return &answer
		}
	}
}

// mutate carries a mutation of a session out, now and then twice.
func (r *rolloutRun) mutate(id SessionID) error {
	name := rolloutName(r.IntN(2))
	draw := r.command
	if mr := r.model.rollouts[name]; mr != nil && len(mr.parts) > 0 && r.IntN(3) > 0 {
		id = pick(r, mr.parts...).session
		if asked := mr.asked(); asked != nil && r.IntN(6) == 0 {
			id, draw = asked.session, func(_ string, id SessionID) (Command, does) { return r.offers(mr, id) }
		}
	}
	s := r.model.sessions[id]
	r.model.wall = uint64(r.IntN(100))
	s.number++
	s.body = 0 // the answer of before is acknowledged
	c, does := draw(name, id)
	c.Node, c.Name, c.Session, c.Number, c.Acked, c.Time = 1, []byte(name), id, s.number, s.number-1, r.model.wall
	want := does()
	got := r.all(c)
	s.body = len(got.Body)
	if mr := r.model.rollouts[name]; mr != nil {
		r.model.review(mr)
	}
	r.tally[fmt.Sprintf("%v %v", c.Kind, got.Status)]++
	if got.Status != want.Status || c.Kind == CmdRolloutAsk && want.Status == protocol.StatusSuccess &&
		got.Body != want.Text {
		return fmt.Errorf("%v is answered %v %q, not %v %q", c.Kind, got.Status, got.Body, want.Status, want.Text)
	}
	if c.Kind != CmdRolloutAsk && (got.Body != "") != explained(got) {
		return fmt.Errorf("%v is answered %v %q", c.Kind, got.Status, got.Body)
	}
	if want.Number != 0 && uint64(got.Order) != want.Number {
		return fmt.Errorf("%v is answered %d, not %d", c.Kind, got.Order, want.Number)
	}
	if r.IntN(10) > 0 {
		return nil
	}
	first := *got
	if again := r.all(c); *again != first {
		return fmt.Errorf("%v sent again is answered %+v, not %+v", c.Kind, again, first)
	}
	return nil
}

// explained reports whether an answer has a text for people: a refusal that says nothing itself.
func explained(e *Effect) bool {
	return e.Status != protocol.StatusSuccess && e.Status != protocol.StatusQuotaExceeded
}

// check compares the machine with the model.
func (r *rolloutRun) check(m *Machine) error {
	state := m.State()
	for k := range state.Objects {
		if len(state.Objects[k].Links) == 0 {
			state.Objects[k].Links = nil
		}
	}
	want := r.model.objects()
	alarms := 0
	for _, mr := range r.model.rollouts {
		if _, waits := mr.rules.NextDue(); waits {
			alarms++
		}
	}
	next := uint64(0)
	if first := r.model.first(); first != nil {
		next = firstDue(first)
	}
	at, _ := m.NextAlarm()
	switch {
	case !reflect.DeepEqual(state.Objects, want):
		return fmt.Errorf("rollouts (- model, + machine):\n%s", objectsDiff(state.Objects, want))
	case state.LastOrder != r.model.order || state.LastRevision != r.model.revision || state.Now != r.model.now:
		return fmt.Errorf("order id %d, revision %d at %d, not %d, %d at %d", state.LastOrder, state.LastRevision,
			state.Now, r.model.order, r.model.revision, r.model.now)
	case len(state.Sessions) != len(r.model.sessions):
		return fmt.Errorf("%d sessions, not %d", len(state.Sessions), len(r.model.sessions))
	case m.Usage(0).Bytes != r.model.bytes():
		return fmt.Errorf("%d bytes count, not %d", m.Usage(0).Bytes, r.model.bytes())
	case at != next || m.Alarms() != alarms:
		return fmt.Errorf("%d wait, the first for %d; it should be %d, for %d", m.Alarms(), at, alarms, next)
	}
	return r.checkViews(m)
}

// objectsDiff shows the lines in which objects differ.
func objectsDiff(got, want []ObjectState) string {
	lines := func(list []ObjectState) (lines []string) {
		for _, o := range list {
			lines = append(lines, fmt.Sprintf("%s %v revision %d", o.Name, o.Kind, o.Revision))
			for _, line := range strings.Split(o.Body, "\n") {
				lines = append(lines, o.Name+": "+line)
			}
			for _, l := range o.Links {
				lines = append(lines, fmt.Sprintf("%s: %+v", o.Name, l))
			}
		}
		return lines
	}
	var b strings.Builder
	for _, side := range []struct {
		mark         string
		lines, other []string
	}{{"-", lines(want), lines(got)}, {"+", lines(got), lines(want)}} {
		for _, line := range side.lines {
			if !slices.Contains(side.other, line) {
				fmt.Fprintf(&b, "%s %s\n", side.mark, line)
			}
		}
	}
	return b.String()
}

// checkViews reads all rollouts, and their parts, as the model shows them.
func (r *rolloutRun) checkViews(m *Machine) error {
	for name, mr := range r.model.rollouts {
		var d RolloutDescription
		for shown, body := range mr.shown {
			var view string
			var row uint64
			cut := strings.LastIndexByte(shown, ' ')
			view = shown[:cut]
			fmt.Sscan(shown[cut+1:], &row)
			if m.DescribeRollout(1, name, PartOptions{Part: view}, &d) != FoundPart {
				return fmt.Errorf("%s has no part %q", name, view)
			}
			k := slices.IndexFunc(d.Rows, func(at Row) bool { return at.ID == row })
			if row == 0 && string(d.Head) != body || row != 0 && (k < 0 || string(d.Rows[k].Body) != body) {
				return fmt.Errorf("%s shows %q in another way", name, shown)
			}
		}
	}
	return nil
}

// snapshot saves the machine as it was some steps ago, and goes on with a replica that was restored, now and then.
func (r *rolloutRun) snapshot() error {
	if r.saved == nil {
		if r.IntN(15) == 0 {
			sn, err := r.m.PrepareSnapshot()
			if err != nil {
				return err
			}
			r.saved = &rolloutSave{snapshot: sn, state: r.m.State(), wait: r.IntN(8)}
		}
		return nil
	}
	if r.saved.wait--; r.saved.wait >= 0 {
		return nil
	}
	saved := r.saved
	r.saved = nil
	defer saved.snapshot.Discard()
	var file bytes.Buffer
	if err := saved.snapshot.Save(&file, nil); err != nil {
		return err
	}
	m := New(Options{History: 64, Bounds: r.m.bounds})
	if err := m.Restore(&file); err != nil {
		return err
	}
	if got := m.State(); !reflect.DeepEqual(got.Objects, saved.state.Objects) {
		return fmt.Errorf("rollouts as they are restored, and were saved:\n%s",
			objectsDiff(got.Objects, saved.state.Objects))
	}
	return r.restart()
}

// restart goes on with a replica that was restored, which has the digest of the other one.
func (r *rolloutRun) restart() error {
	sn, err := r.m.PrepareSnapshot()
	if err != nil {
		return err
	}
	defer sn.Discard()
	var file bytes.Buffer
	if err := sn.Save(&file, nil); err != nil {
		return err
	}
	m := New(Options{History: 64, Bounds: r.m.bounds})
	if err := m.Restore(&file); err != nil {
		return err
	}
	if m.Digest() != r.m.Digest() {
		return fmt.Errorf("the digest of the restored replica is another")
	}
	r.m = m
	r.tamper(r, "restart")
	return r.check(m)
}

// TestRolloutsAreAsTheirModelSays: with ends of sessions, drops of the node, quotas, repetitions, little work for each
// command, and replicas that are restored.
func TestRolloutsAreAsTheirModelSays(t *testing.T) {
	rolloutBed(t, 0)
	tally := make(map[string]int)
	for seed := range *rolloutSeeds {
		if err := runRollouts(newRolloutRun(seed, tally), rolloutSteps); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
	t.Log(tally)
	for k := CmdRolloutPut; k <= CmdRolloutGate; k++ {
		done, refused := 0, 0
		for what, n := range tally {
			switch {
			case what == fmt.Sprintf("%v SUCCESS", k):
				done += n
			case strings.HasPrefix(what, k.String()+" "):
				refused += n
			}
		}
		if done < 10 || refused < 10 {
			t.Errorf("%v was carried out %d times and refused %d times", k, done, refused)
		}
	}
	for _, what := range []protocol.Status{protocol.StatusQuotaExceeded, protocol.StatusFenced} {
		n := 0
		for of, times := range tally {
			if strings.HasSuffix(of, " "+what.String()) {
				n += times
			}
		}
		if n < 10 {
			t.Errorf("%v came %d times", what, n)
		}
	}
}

// pick returns one of the list.
func pick[T any](r *rolloutRun, list ...T) T { return list[r.IntN(len(list))] }

func (r *rolloutRun) randomSpec() rollout.Spec {
	s := rollout.Spec{Rules: rollout.DefaultRules()}
	s.Source = pick(r, rollout.SourcePublished, rollout.SourceAsked)
	s.KeepVersions, s.AskInterval, s.Reelect.After = 4, 100, 300
	s.Reelect.Codes = []string{"bad"}
	s.ProgressDeadline = pick[uint64](r, 0, 500)
	for k, name := range pick(r, []string{"a", "b", "c"}, []string{"a", "b"}, []string{"b", "c"}, nil) {
		l := rollout.LocationSpec{Name: name, Delay: uint64(min(k, 1) * 200)}
		if r.IntN(3) == 0 {
			l.Gates = []string{"g"}
		}
		s.Locations = append(s.Locations, l)
	}
	return s
}
