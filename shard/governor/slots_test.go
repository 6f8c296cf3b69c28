package governor

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/hosts"
	"github.com/signalbox/signalbox/shard/plan"
	"github.com/signalbox/signalbox/shard/slots"
)

// newSlotScene has three hosts with leaders spread over them, and the data shards 1 to 4. Slot 0 belongs to shard 1,
// slot 1024 to shard 2, and so on.
func newSlotScene(t *testing.T) *scene {
	t.Helper()
	s := newSceneOf(t, []hosts.ShardID{1, 2, 3, 4}, "a", "b", "c")
	for i := range s.Seen.Shards {
		s.Seen.Shards[i].Leader = shard.HostID(1 + i%3)
	}
	return s
}

// order orders a move.
func (s *scene) order(slot shard.Slot, to hosts.ShardID) {
	s.Helper()
	s.done(s.State.MoveSlot(s.at(), slot, to, false))
}

// begin opens the governor's next step, and returns it as a text.
func (s *scene) begin() string {
	s.Helper()
	d := Planner().Next(s.View)
	if d.Step == nil {
		return ""
	}
	if _, out := Begin(s.at(), s.State, s.Plan, 0, d.Revision, *d.Step); out != plan.Applied {
		s.Fatalf("%v: %v", d.Step, out)
	}
	return d.Rule + ": " + describe(s.View, d.Step)
}

// keep records that the owner of a slot keeps it.
func (s *scene) keep(slot shard.Slot) {
	s.Helper()
	from := s.State.SlotOwner(slot)
	o := s.State.SlotOrder(slot)
	if o.Into == 0 {
		s.State.BeginMove(s.at(), slot, o.To)
	}
	s.done(s.State.AssignSlot(s.at(), slot, slots.Owner{Shard: uint64(from),
		Generation: s.State.Slots().Pending(slot) + 1}, "12.4 MiB, limit 8 MiB"))
}

func TestOrderedSlotsMove(t *testing.T) {
	s := newSlotScene(t)
	s.order(5, 2)
	s.order(3, 2)
	s.order(3072, 1)
	got := s.play()
	if want := []string{
		"0 slots: slot 3: moving from shard 1 to shard 2",
		"0 slots: slot 5: moving from shard 1 to shard 2",
		"0 slots: slot 3072: moving from shard 4 to shard 1",
	}; !slices.Equal(got, want) {
		t.Errorf("the steps are\n%s", strings.Join(got, "\n"))
	}
}

func TestShardMovesOneSlotAtATime(t *testing.T) {
	s := newSceneOf(t, []hosts.ShardID{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, "a", "b", "c")
	for i := range s.Seen.Shards {
		s.Seen.Shards[i].Leader = shard.HostID(1 + i%3)
	}
	size := shard.Slots / 10
	for i, to := range []hosts.ShardID{2, 1, 4, 6, 8, 10} { // from the shards 1, 1, 3, 5, 7, 9
		s.order(shard.Slot(max(0, 2*i-2)*size+i+1), to)
	}
	var began []string
	for text := s.begin(); text != ""; text = s.begin() {
		began = append(began, text)
	}
	if len(began) != maxMoves {
		t.Errorf("the steps are\n%s", strings.Join(began, "\n"))
	}
	taking := map[hosts.ShardID]int{}
	for _, step := range s.Plan.Steps() {
		taking[step.Payload.Shard]++
		taking[step.Payload.Into]++
	}
	for id, n := range taking {
		if n != 1 {
			t.Errorf("shard %d takes part in %d moves", id, n)
		}
	}
	texts, _ := s.reasons()
	if last := texts[len(texts)-1]; !strings.Contains(last, "slots are to move and wait for other slots or shards") {
		t.Errorf("the last reason is %q", last)
	}
}

// TestSlotsWaitForHealthyShards: each reason against a move.
func TestSlotsWaitForHealthyShards(t *testing.T) {
	for want, change := range map[string]func(s *scene){
		"host c is to be online and is not": func(s *scene) { s.Seen.host(3).SilentFor = 3000 },
		"the disk of b is nearly full":      func(s *scene) { s.Seen.host(2).Full = true },
		"shard 2: c lags by 9.0 s":          func(s *scene) { s.Seen.shard(2).replica(3).BehindFor = 9000 },
		"shard 1: no slot moves: c is not heard": func(s *scene) {
			s.dies("c", 9000, 2)
			s.offline("c", 1000)
		},
		"slot 5 stays in shard 1 after 2 attempts to move to shard 2: 12.4 MiB, limit 8 MiB": func(s *scene) {
			s.keep(5)
			s.keep(5)
		},
	} {
		s := newSlotScene(t)
		s.order(5, 2)
		change(s)
		texts, step := s.reasons()
		if step != nil && step.Kind == KindMoveSlot {
			t.Errorf("%s: the slot moves", want)
		}
		if !slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(text, want) }) {
			t.Errorf("%q is not among\n%s", want, strings.Join(texts, "\n"))
		}
	}
	s := newSlotScene(t)
	s.order(5, 2)
	s.Seen.shard(2).Leader = 0
	if text := s.begin(); text != "" {
		t.Errorf("a shard without a leader: %s", text)
	}
}

func TestFailedSlotIsTriedAgainAfterItsDelay(t *testing.T) {
	s := newSlotScene(t)
	s.order(5, 2)
	s.keep(5)
	if text := s.begin(); text != "slots: slot 5: moving from shard 1 to shard 2" {
		t.Errorf("after the first failure: %q", text)
	}
	s.keep(5)
	s.Plan = plan.New(Config())
	due := Planner().Due(s.View, dueWaits)
	if due == nil || due.Kind != KindMoveSlot || due.At != s.Now+1+hosts.SlotDelayMillis {
		t.Errorf("what is due: %+v", due)
	}
}

func TestManyKeptSlotsAreReportedTogether(t *testing.T) {
	s := newSlotScene(t)
	for slot := range shard.Slot(maxKept + 3) {
		s.order(slot, 2)
		s.keep(slot)
		s.keep(slot)
	}
	texts, _ := s.reasons()
	if n := len(texts); n != maxKept+1 || !strings.Contains(texts[n-1], "3 more slots stay") {
		t.Errorf("%d reasons, the last is %q", n, texts[n-1])
	}
}

// TestAttemptWithoutStepIsContinued: with its target and generation, even if the order has changed and the cluster is
// not healthy, because the slot may be sealed.
func TestAttemptWithoutStepIsContinued(t *testing.T) {
	s := newSlotScene(t)
	s.order(5, 2)
	s.begin()
	first := s.Plan.Steps()[0].Payload
	s.Plan.Cancel(s.Now, 1, "an operator", 0)
	s.done(s.State.CancelMove(s.at(), 5))
	s.Seen.shard(3).Leader = 0
	if text := s.begin(); text != "attempts: slot 5: moving from shard 1 to shard 2" {
		t.Errorf("the next step is %q", text)
	}
	if again := s.Plan.Steps()[0].Payload; again != first {
		t.Errorf("%+v is continued as %+v", first, again)
	}
	if advice, _ := Planner().Assess(s.View, 2); advice != plan.Perform {
		t.Errorf("the advice is %v", advice)
	}
	s.keep(5)
	if advice, _ := Planner().Assess(s.View, 2); advice != plan.Finish {
		t.Errorf("after the outcome the advice is %v", advice)
	}
}

func TestMoveIsOnlyBegunAsOrdered(t *testing.T) {
	s := newSlotScene(t)
	s.order(5, 2)
	good := Action{Shard: 1, Into: 2, Slot: 5, Number: 1}
	for name, change := range map[string]func(a *Action){
		"another target":     func(a *Action) { a.Into = 3 },
		"another owner":      func(a *Action) { a.Shard = 3 },
		"another slot":       func(a *Action) { a.Slot = 6 },
		"no slot":            func(a *Action) { a.Slot = shard.Slots },
		"another generation": func(a *Action) { a.Number = 2 },
		"no generation":      func(a *Action) { a.Number = 0 },
	} {
		a := good
		change(&a)
		if _, out := Begin(s.at(), s.State, s.Plan, 0, 0, proposal(KindMoveSlot, a)); out != plan.Unfit {
			t.Errorf("%s: %v", name, out)
		}
	}
	pr := proposal(KindMoveSlot, good)
	if _, out := Begin(s.at(), s.State, s.Plan, 0, 0, pr); out != plan.Applied || s.State.Slots().Pending(5) != 1 {
		t.Errorf("as ordered: %v, pending %d", out, s.State.Slots().Pending(5))
	}
	if got := fmt.Sprint(pr.Subject, pr.With); got != "slot/5[move/1 move/2]" {
		t.Errorf("the subjects are %s", got)
	}
}

// TestABackupHoldsSlots: no move begins, also by a decision from before the hold. A move in progress goes on.
func TestABackupHoldsSlots(t *testing.T) {
	s := newSlotScene(t)
	s.order(5, 2)
	s.order(3072, 3)
	s.begin()
	decided := Planner().Next(s.View)
	at := s.at()
	at.By = "alice"
	s.done(s.State.HoldMoves(at, 1, s.State.Host(1).Incarnation))
	if decided.Step == nil || decided.Step.Payload.Slot != 3072 {
		t.Fatalf("the next step is %+v", decided.Step)
	}
	if _, out := Begin(s.at(), s.State, s.Plan, 0, decided.Revision, *decided.Step); out != plan.Unfit {
		t.Errorf("a move begins in spite of the backup: %v", out)
	}
	if text := s.begin(); text != "" {
		t.Errorf("during the backup begins %s", text)
	}
	texts, _ := s.reasons()
	if last := texts[len(texts)-1]; !strings.Contains(last, "no slot begins to move before the backup by alice") {
		t.Errorf("the reasons are %q", texts)
	}
	if f := forbiddenMove(s.View, &s.Plan.Steps()[0].Payload); f != nil {
		t.Errorf("the move in progress stops: %s", f.Text)
	}
	s.Now += hosts.HoldMillis + 1
	if text := s.begin(); text != "slots: slot 3072: moving from shard 4 to shard 3" {
		t.Errorf("after the backup begins %q", text)
	}
}
