package rollout

import (
	"bytes"
	"flag"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/signalbox/signalbox/protocol"
	kind "github.com/signalbox/signalbox/protocol/rollout"
)

var (
	soak = flag.Int("rollout.commands", 100_000, "how many random commands the rollout and its model are driven with")
	from = flag.Uint64("rollout.seed", 1, "the seed of the first run")
)

const commandsOfARun = 400

// TestRolloutAgreesWithItsModel: a rollout and its plain model get the same random commands at the same times. They
// must have equal answers and states after each, the invariants hold, and a save and load loses nothing.
func TestRolloutAgreesWithItsModel(t *testing.T) {
	commands := *soak
	if testing.Short() {
		commands = min(commands, 20_000)
	}
	tally := make(map[string]int)
	for seed := *from; commands > 0; seed++ {
		if err := playRandomly(seed, bugNone, false, tally); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		commands -= commandsOfARun
	}
	t.Log(tally)
	if *soak < 100_000 || testing.Short() {
		return
	}
	for _, event := range []string{
		"assigned initial", "assigned next", "assigned reelection", "assigned replaced", "assigned promote",
		"assigned rollback", "assigned retry", "reached", "unreached", "abandoned", "stuck", "halted reelections",
		"halted deadline", "halted aborted", "wanted", "foreign", "loaded", "dropped",
	} {
		if tally[event] < 20 {
			t.Errorf("%q came about %d times: the commands do not reach it", event, tally[event])
		}
	}
}

// random is a run.
type random struct {
	*rand.Rand
	rollout   *Rollout
	model     *model
	instances []*Instance
	now       uint64
	revision  uint64
	out       Effects
	tally     map[string]int
	watched   bool
	alone     bool
	shown     map[string]part // last state sent to watches
	last      string
}

// playRandomly plays a run. With alone set the model is judged by the invariants, and not compared with the rollout.
func playRandomly(seed uint64, planted bug, alone bool, tally map[string]int) error {
	ra := &random{
		Rand: rand.New(rand.NewPCG(seed, 7)), tally: tally, now: 1000, watched: seed%8 == 0 && !alone, alone: alone,
	}
	spec := ra.spec()
	var a Answer
	ra.rollout, a = New(ra.at(), spec, kind.ChangeInfo{Author: "op", Reason: "begin"})
	if a.Status != protocol.StatusSuccess {
		return fmt.Errorf("spec %+v: %s", spec, a.Text)
	}
	ra.model = &model{planted: planted, now: ra.now}
	ra.model.alter(spec)
	for id := range uint64(8) {
		ra.instances = append(ra.instances, &Instance{ID: id + 1})
	}
	for n := range commandsOfARun {
		if err := ra.step(n); err != nil {
			return fmt.Errorf("command %d at %d, %s: %w", n, ra.now, ra.last, err)
		}
	}
	return nil
}

func (ra *random) at() At {
	ra.out.Reset()
	ra.revision++
	return At{Now: ra.now, Wall: wallAt(ra.now), Revision: ra.revision, Out: &ra.out}
}

// wallAt is the wall clock at a shard time.
func wallAt(now uint64) uint64 { return 7 * now }

// millis is so many milliseconds.
func millis(n int) time.Duration { return time.Duration(n) * time.Millisecond }

// pick returns one element of a list.
func pick[T any](r interface{ IntN(int) int }, list ...T) T { return list[r.IntN(len(list))] }

var names = []string{"sas", "man", "vla", "iva"}

func (ra *random) spec() kind.Spec {
	s := kind.Spec{
		DelayFrom: pick(ra, kind.FromReached, kind.FromReached, kind.FromReached, kind.FromAssigned),
		Versions:  pick(ra, kind.Published, kind.Published, kind.Asked),
		Reelect: kind.Reelect{
			Codes: []string{"expired"}, After: millis(pick(ra, 0, 15, 30)), Attempts: 2,
			Interval: millis(pick(ra, 0, 10, 60)), Most: pick(ra, 0, 1, 3),
		},
		ProgressDeadline: millis(pick(ra, 0, 40, 100)), HaltDeadline: millis(pick(ra, 0, 0, 0, 400)),
		KeepVersions: pick(ra, 4, 6),
		AskInterval:  millis(100),
	}
	order := ra.Perm(len(names))
	if ra.IntN(3) > 0 {
		slices.Sort(order)
	}
	for _, k := range order[:1+ra.IntN(len(order))] {
		ls := kind.Location{Name: names[k], Delay: millis(pick(ra, 0, 5, 5, 20))}
		ls.Require = pick(ra, 0, 0, 0, 1, 2)
		if len(s.Locations) == 0 {
			ls.Delay = 0
		}
		ls.Gates = [][]string{nil, nil, {"errors"}, {"errors", "load"}}[ra.IntN(4)]
		ls.MaxFailing = pick(ra, 0, 0, 0, 1)
		s.Locations = append(s.Locations, ls)
	}
	return s
}

// step lets time pass and gives a command to both.
func (ra *random) step(n int) error {
	ra.last = "time"
	if err := ra.pass(ra.now + pick[uint64](ra, 0, 0, 1, 1, 2, 5, 9, uint64(ra.IntN(80)))); err != nil {
		return err
	}
	before, saved := ra.model.picture(), ra.rollout.Save(nil)
	ra.last = ""
	got, want, resumed, voided := ra.command()
	if got != want && !ra.alone {
		return fmt.Errorf("answered %v, the model %v", got, want)
	}
	if want == protocol.StatusSuccess {
		ra.model.move()
	}
	if !ra.out.Changed && !bytes.Equal(saved, ra.rollout.Save(nil)) {
		return fmt.Errorf("it changed and does not say so")
	}
	for _, e := range ra.out.Events {
		ra.count(e)
	}
	if err := ra.compare(&before, resumed, voided); err != nil {
		return err
	}
	if err := ra.watch(); err != nil {
		return err
	}
	if n%40 == 39 {
		return ra.reload()
	}
	return nil
}

// pass advances time. Mostly everything due is executed on time; sometimes late, as if its command were not in the log
// yet.
func (ra *random) pass(until uint64) error {
	for ra.IntN(4) > 0 {
		due, ok := ra.rollout.NextDue()
		if !ok || due > until {
			// Nothing is due, so the model must not move by itself.
			if err := ra.both(until, false); err != nil {
				return err
			}
			break
		}
		if due > ra.now+1 {
			if err := ra.both(due-1, false); err != nil {
				return err
			}
		}
		if err := ra.both(due, true); err != nil {
			return err
		}
	}
	ra.now, ra.model.now = until, until
	return nil
}

func (ra *random) both(now uint64, due bool) error {
	before := ra.model.picture()
	ra.now, ra.model.now = now, now
	if due {
		ra.rollout.Due(ra.at())
		if next, ok := ra.rollout.NextDue(); ok && next <= now {
			return fmt.Errorf("%d is due at %d", next, now)
		}
		for _, e := range ra.out.Events {
			ra.count(e)
		}
		if err := ra.watch(); err != nil {
			return err
		}
	}
	ra.model.move()
	return ra.compare(&before, false, false)
}

func (ra *random) compare(before *picture, resumed, voided bool) error {
	after, got := ra.model.picture(), ra.rollout.picture(ra.now, ra.instances)
	if !ra.alone && !reflect.DeepEqual(after, got) {
		return fmt.Errorf("the rollout differs from the model:\n%+v\n%+v", got, after)
	}
	size := ra.rollout.size
	if ra.rollout.resize(); ra.rollout.size != size {
		return fmt.Errorf("its size is %d, and was %d", ra.rollout.size, size)
	}
	return checkInvariants(before, &after, ra.rollout.rules.DelayFrom, resumed, voided)
}

func (ra *random) count(e Event) {
	switch e.Kind {
	case eventAssigned:
		ra.tally["assigned "+e.Cause.String()]++
	case eventReached:
		ra.tally["reached"]++
	case eventUnreached:
		ra.tally["unreached"]++
	case eventAbandoned:
		ra.tally["abandoned"]++
	case eventStuck:
		ra.tally["stuck"]++
	case eventHalted:
		ra.tally["halted "+e.Halt.String()]++
	case eventVersionWanted:
		ra.tally["wanted"]++
	}
}

// reload saves the rollout and its instances and restores them from the bytes.
func (ra *random) reload() error {
	saved := ra.rollout.Save(nil)
	loaded, err := Load(saved)
	if err != nil {
		return err
	}
	for _, k := range ra.Perm(len(ra.instances)) {
		i := ra.instances[k]
		if !i.live {
			continue
		}
		copied := &Instance{ID: i.ID}
		if err := copied.Load(i.Save(nil)); err != nil {
			return err
		}
		ra.instances[k] = copied
		if err := loaded.Attach(copied); err != nil {
			return err
		}
	}
	for k, l := range loaded.locations {
		if old := ra.rollout.locations[k]; l.Counts != old.Counts || l.evidence() != old.evidence() {
			return fmt.Errorf("%s has other counts after a restart: %+v, %+v", l.Spec.Name, l.Counts, old.Counts)
		}
	}
	if was, is := ra.rehearsed(ra.rollout), ra.rehearsed(loaded); !slices.Equal(was, is) {
		return fmt.Errorf("a dry run gives %v, and after a restart %v", was, is)
	}
	if now := ra.rollout.Save(nil); !bytes.Equal(saved, now) {
		return fmt.Errorf("a dry run changes the rollout")
	}
	if again := loaded.Save(nil); !bytes.Equal(saved, again) || loaded.size != ra.rollout.size ||
		loaded.payloads != ra.rollout.payloads {
		return fmt.Errorf("it is saved in another way after a restart")
	}
	ra.rollout = loaded
	ra.tally["loaded"]++
	return nil
}

// rehearsed returns the result of a rollout's dry run after some actions.
func (ra *random) rehearsed(r *Rollout) []kind.Step {
	d := r.Rehearse(ra.now)
	d.Act(kind.Action{Kind: kind.Abort})
	d.Act(kind.Action{Kind: kind.Resume})
	d.Act(kind.Action{Kind: kind.Rollback, Seq: r.lastSeq, Fast: true})
	d.Publish()
	d.Act(kind.Action{Kind: kind.Promote})
	return d.Run(7)
}
