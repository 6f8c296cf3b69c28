package rollout

import (
	"flag"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/signalbox/signalbox/protocol"
	rolloutkind "github.com/signalbox/signalbox/protocol/rollout"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/machine"
	"github.com/signalbox/signalbox/shard/machine/machinetest"
)

var (
	rolloutSeeds = flag.Uint64("rollout.seeds", 24, "how many random runs rollouts and their model are driven with")
	rolloutSeek  = flag.Uint64("rollout.seek", 0, "for each planted mistake, how many seeds to look through")
)

const rolloutSteps = 500

// rolloutRun runs the same random commands on a machine and the model.
type rolloutRun struct {
	*machinetest.ObjectRun[*machine.Machine]
	model *rolloutModel
}

func newRolloutRun(seed uint64, tally map[string]int) *rolloutRun {
	r := &rolloutRun{model: newRolloutModel()}
	r.ObjectRun = machinetest.NewObjectRun(func() *machine.Machine {
		return machine.New(machine.NewKinds(Kind()), machine.Options{History: 64, Bounds: machine.Bounds{Work: 3}})
	}, seed, 5, r.model.ModelShard, r.model, tally)
	r.Mutate = r.mutateRollout
	for i := range 2 {
		for _, view := range []string{
			"", "source", "location/a", "location/b", "location/c", "instances/a", "instances/b",
		} {
			r.Followers = append(r.Followers, &machinetest.RowFollower{
				Ref: shard.Ref{Kind: shard.KindRollout, Node: 1, Name: rolloutName(i), View: view},
			})
		}
	}
	return r
}

func rolloutName(i int) string { return fmt.Sprintf("rollout-%d", i) }

// mutateRollout executes a session's mutation, sometimes twice.
func (r *rolloutRun) mutateRollout(id shard.SessionID) error {
	name := rolloutName(r.IntN(2))
	draw := r.command
	if mr := r.model.rollouts[name]; mr != nil && len(mr.parts) > 0 && r.IntN(3) > 0 {
		id = pick(r, mr.parts...).session
		if asked := mr.asked(); asked != nil && r.IntN(6) == 0 {
			id, draw = asked.session, func(_ string, id shard.SessionID) (shard.Command,
				does) {
				return r.offers(mr, id)
			}
		}
	}
	s := r.model.Sessions[id]
	r.model.Wall = uint64(r.IntN(100))
	s.Number++
	s.Body = 0 // the previous answer is acknowledged
	c, does := draw(name, id)
	c.Node, c.Name, c.Session, c.Number, c.Acked, c.Time = 1, []byte(name), id, s.Number, s.Number-1, r.model.Wall
	want := does()
	got := r.All(c)
	s.Body = len(got.Body)
	if mr := r.model.rollouts[name]; mr != nil {
		r.model.review(mr)
	}
	r.Tally[fmt.Sprintf("%v %v", c.Kind, got.Status)]++
	if got.Status != want.Status || c.Kind == shard.CmdRolloutAsk && want.Status == protocol.StatusSuccess &&
		got.Body != want.Text {
		return fmt.Errorf("%v is answered %v %q, not %v %q", c.Kind, got.Status, got.Body, want.Status, want.Text)
	}
	if c.Kind != shard.CmdRolloutAsk && (got.Body != "") != machinetest.Explained(got) {
		return fmt.Errorf("%v is answered %v %q", c.Kind, got.Status, got.Body)
	}
	if want.Number != 0 && uint64(got.Order) != want.Number {
		return fmt.Errorf("%v is answered %d, not %d", c.Kind, got.Order, want.Number)
	}
	if r.IntN(10) > 0 {
		return nil
	}
	first := *got
	if again := r.All(c); *again != first {
		return fmt.Errorf("%v sent again is answered %+v, not %+v", c.Kind, again, first)
	}
	return nil
}

// TestRolloutsAreAsTheirModelSays: with session ends, node drops, quotas, repetitions, a small work limit, and restored
// replicas.
func TestRolloutsAreAsTheirModelSays(t *testing.T) {
	rolloutBed(t, 0)
	tally := make(map[string]int)
	for seed := range machinetest.Shortened(*rolloutSeeds) {
		if err := newRolloutRun(seed, tally).Play(shard.CmdRolloutPut, rolloutSteps); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
	t.Log(tally)
	if testing.Short() {
		return // the counts need all seeds
	}
	for k := shard.CmdRolloutPut; k <= shard.CmdRolloutGate; k++ {
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
			t.Errorf("%v was Success %d times and refused %d times", k, done, refused)
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

func (r *rolloutRun) randomSpec() rolloutkind.Spec {
	s := rolloutkind.Spec{}.WithDefaults()
	s.Versions = pick(r, rolloutkind.Published, rolloutkind.Asked)
	s.KeepVersions, s.AskInterval, s.Reelect.After = 4, 100*time.Millisecond, 300*time.Millisecond
	s.Reelect.Codes = []string{"bad"}
	s.ProgressDeadline = pick(r, 0, 500*time.Millisecond)
	for k, name := range pick(r, []string{"a", "b", "c"}, []string{"a", "b"}, []string{"b", "c"}, nil) {
		l := rolloutkind.Location{Name: name, Delay: time.Duration(min(k, 1)) * 200 * time.Millisecond}
		if r.IntN(3) == 0 {
			l.Gates = []string{"g"}
		}
		s.Locations = append(s.Locations, l)
	}
	return s
}
