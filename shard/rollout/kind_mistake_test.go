package rollout

import (
	"strings"
	"testing"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/internal/arena"
	"github.com/signalbox/signalbox/shard/machine/machinetest"
)

// eachRollout applies a bug to all rollouts in the machine.
func (r *rolloutRun) eachRollout(fn func(ro *rollouts, object arena.Handle, st *stagedRollout)) {
	ro := rolloutsOf(core(r.M))
	for h := arena.Handle(1); h < ro.End(); h++ {
		if st := ro.At(h); st.object != 0 && !core(r.M).Objects.At(st.object).Deleting {
			fn(ro, st.object, st)
		}
	}
}

// eachPart applies a bug to a rollout's parts.
func (r *rolloutRun) eachPart(object arena.Handle, fn func(holding arena.Handle, p *sessionPart)) {
	all := &core(r.M).Holdings
	for h, next := all.First(core(r.M).Objects.At(object)), arena.Handle(0); h != 0; h = next {
		next = all.Next(h)
		fn(h, rolloutsOf(core(r.M)).parts.At(all.At(h).State))
	}
}

// rolloutMistakes are possible bugs in the rollout kind, as resulting machine states, each with a run that detects the
// bug, and the expected message. A bug is applied after each step, or after each restart.
var rolloutMistakes = []struct {
	name   string
	seed   uint64
	says   string
	moment string
	make   func(r *rolloutRun)
}{
	{"the-rows-of-a-rollout-are-not-reported", 1, "followed to", "step", func(r *rolloutRun) {
		r.eachRollout(func(_ *rollouts, _ arena.Handle, st *stagedRollout) {
			machinetest.ForgetRows(&st.whole)
		})
	}},
	{"instances-are-not-reported", 1, "followed to", "step", func(r *rolloutRun) {
		r.eachRollout(func(_ *rollouts, _ arena.Handle, st *stagedRollout) {
			for k := range st.tracks {
				machinetest.ForgetRows(&st.tracks[k].instances)
			}
		})
	}},
	{"the-head-is-not-reported", 1, "followed to", "step", func(r *rolloutRun) {
		r.eachRollout(func(_ *rollouts, _ arena.Handle, st *stagedRollout) { st.whole.Head = 0 })
	}},
	{"a-new-target-is-not-reported", 1, "followed to", "step", func(r *rolloutRun) {
		r.eachRollout(func(_ *rollouts, _ arena.Handle, st *stagedRollout) {
			for k := range st.tracks {
				st.tracks[k].target.Head = 0
			}
		})
	}},
	{"a-question-to-the-source-is-not-reported", 6, "followed to", "step", func(r *rolloutRun) {
		r.eachRollout(func(_ *rollouts, _ arena.Handle, st *stagedRollout) { st.ticket.Head = 0 })
	}},
	{"an-instance-is-in-no-location", 1, "another way", "step", func(r *rolloutRun) {
		r.eachRollout(func(ro *rollouts, object arena.Handle, st *stagedRollout) {
			r.eachPart(object, func(h arena.Handle, p *sessionPart) {
				of := st.locationOf(p.instance.locationID())
				if of != nil && of.parts != 0 && r.IntN(50) == 0 {
					ro.byLocation.Remove(&of.parts, core(r.M).Holdings.At(h).State)
				}
			})
		})
	}},
	{"a-text-is-not-counted", 1, "bytes count", "step", func(r *rolloutRun) {
		if r.One.Commands[0].Kind == shard.CmdRolloutReport && r.Result().Status == protocol.StatusSuccess {
			r.eachRollout(func(_ *rollouts, object arena.Handle, _ *stagedRollout) {
				core(r.M).Nodes.Charge(core(r.M).Objects.Node(core(r.M).Objects.At(object)), -1)
			})
		}
	}},
	{"the-link-of-a-source-is-lost", 1, "source", "restart", func(r *rolloutRun) {
		r.eachRollout(func(_ *rollouts, object arena.Handle, _ *stagedRollout) {
			r.eachPart(object, func(h arena.Handle, p *sessionPart) {
				if p.source && !p.joined() {
					core(r.M).Holdings.Remove(h)
				}
			})
		})
	}},
	{"a-source-is-none-after-a-restore", 1, "source", "restart", func(r *rolloutRun) {
		r.eachRollout(func(_ *rollouts, object arena.Handle, _ *stagedRollout) {
			r.eachPart(object, func(_ arena.Handle, p *sessionPart) { p.source = false })
		})
	}},
	{"a-restore-sets-no-alarm", 1, "wait, the first for", "restart", func(r *rolloutRun) {
		r.eachRollout(func(_ *rollouts, object arena.Handle, _ *stagedRollout) {
			core(r.M).Objects.SetAlarm(object, 0)
		})
	}},
	{"an-alarm-is-set-too-late", 1, "wait, the first for", "step", func(r *rolloutRun) {
		r.eachRollout(func(_ *rollouts, object arena.Handle, st *stagedRollout) {
			if due, waits := st.NextDue(); waits {
				core(r.M).Objects.SetAlarm(object, due+1)
			}
		})
	}},
}

func TestMistakesOfRolloutsAreNoticed(t *testing.T) {
	if testing.Short() {
		t.Skip("plays many runs of a machine, which one goroutine carries out")
	}
	rolloutBed(t, 0)
	play := func(seed uint64, moment string, mistake func(r *rolloutRun)) error {
		r := newRolloutRun(seed, make(map[string]int))
		r.Tamper = func(at string) {
			if at == moment {
				mistake(r)
			}
		}
		return r.Play(shard.CmdRolloutPut, rolloutSteps)
	}
	for _, c := range rolloutMistakes {
		t.Run(c.name, func(t *testing.T) {
			for seed := range *rolloutSeek {
				t.Logf("seed %d: %v", seed, play(seed, c.moment, c.make))
			}
			if err := play(c.seed, "never", c.make); err != nil {
				t.Fatal("without the mistake:", err)
			}
			if err := play(c.seed, c.moment, c.make); err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("noticed as %v", err)
			}
		})
	}
}
