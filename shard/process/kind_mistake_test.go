package process

import (
	"strings"
	"testing"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/internal/arena"
	"github.com/signalbox/signalbox/shard/machine/machinetest"
)

// eachProcess applies a bug to all processes in the machine, eachMember to their members.

func (r *processRun) eachProcess(fn func(object arena.Handle, p *hostedProcess)) {
	pr := processesOf(core(r.M))
	for h := arena.Handle(1); h < pr.End(); h++ {
		if p := pr.At(h); p.object != 0 && !core(r.M).Objects.At(p.object).Deleting {
			fn(p.object, p)
		}
	}
}

func (r *processRun) eachMember(fn func(holding arena.Handle, pm *processMember)) {
	r.eachProcess(func(object arena.Handle, _ *hostedProcess) {
		all := &core(r.M).Holdings
		for h, next := all.First(core(r.M).Objects.At(object)), arena.Handle(0); h != 0; h = next {
			next = all.Next(h)
			fn(h, processesOf(core(r.M)).members.At(all.At(h).State))
		}
	})
}

// last reports whether the last command had the kind and was successful.
func (r *processRun) last(k shard.CommandKind) bool {
	return r.One.Commands[0].Kind == k && r.Result().Status == protocol.StatusSuccess
}

// forgetSent drops the machine's record of sent notifications with a kind.
func (r *processRun) forgetSent(what shard.EffectKind) {
	for k := len(r.sent) - 1; k >= 0; k-- {
		if strings.HasPrefix(r.sent[k], what.String()) {
			r.sent = append(r.sent[:k], r.sent[k+1:]...)
			return
		}
	}
}

// processMistakes are possible bugs in the process kind, as resulting machine states, each with a run that detects the
// bug, and the expected message. A bug is applied after each step, or after each restore.
var processMistakes = []struct {
	name   string
	seed   uint64
	says   string
	moment string
	make   func(r *processRun)
}{
	{"the-rows-of-a-process-are-not-reported", 0, "followed to", "step", func(r *processRun) {
		r.eachProcess(func(_ arena.Handle, p *hostedProcess) { machinetest.ForgetRows(&p.whole) })
	}},
	{"the-head-is-not-reported", 0, "followed to", "step", func(r *processRun) {
		r.eachProcess(func(_ arena.Handle, p *hostedProcess) { p.whole.Head = 0 })
	}},
	{"results-are-not-reported", 0, "followed to", "step", func(r *processRun) {
		r.eachProcess(func(_ arena.Handle, p *hostedProcess) { machinetest.ForgetRows(&p.results) })
	}},
	{"the-results-have-changed-with-each-member", 0, "View:results", "step", func(r *processRun) {
		r.eachProcess(func(_ arena.Handle, p *hostedProcess) { p.results.Revision = p.whole.Revision + 1 })
	}},
	{"who-got-something-is-not-notified", 0, "notified are", "step", func(r *processRun) {
		r.forgetSent(shard.EffectInbox)
	}},
	{"who-was-put-out-is-not-notified", 0, "notified are", "step", func(r *processRun) {
		r.forgetSent(shard.EffectLost)
	}},
	{"an-inbox-is-not-counted", 0, "bytes count", "step", func(r *processRun) {
		if r.last(shard.CmdProcessSend) {
			r.eachProcess(func(object arena.Handle, _ *hostedProcess) {
				core(r.M).Nodes.Charge(core(r.M).Objects.Node(core(r.M).Objects.At(object)), -1)
			})
		}
	}},
	{"the-link-of-who-has-left-stays", 0, "opens", "restart", func(r *processRun) {
		r.eachProcess(func(object arena.Handle, p *hostedProcess) {
			if list := p.Members(); len(list) > 0 {
				processesOf(core(r.M)).begin(core(r.M), object, 0)
				p.Leave(processesOf(core(r.M)).work.at, list[0])
				processesOf(core(r.M)).work.out.Reset()
			}
		})
	}},
	{"a-member-is-of-another-link-after-a-restore", 0, "another way", "restart", func(r *processRun) {
		first := arena.Handle(0)
		r.eachMember(func(link arena.Handle, pm *processMember) {
			if first == 0 {
				first = link
			}
			pm.Ref = uint64(first)
		})
	}},
	{"what-a-member-has-completed-is-lost-with-a-restore", 0, "completed 0", "restart", func(r *processRun) {
		r.eachMember(func(_ arena.Handle, pm *processMember) { pm.Completed = 0 })
	}},
	{"a-restore-sets-no-alarm", 0, "wait, the first for", "restart", func(r *processRun) {
		r.eachProcess(func(object arena.Handle, _ *hostedProcess) { core(r.M).Objects.SetAlarm(object, 0) })
	}},
	{"an-alarm-is-set-too-late", 0, "wait, the first for", "step", func(r *processRun) {
		r.eachProcess(func(object arena.Handle, p *hostedProcess) {
			if due, waits := p.NextDue(); waits {
				core(r.M).Objects.SetAlarm(object, due+1)
			}
		})
	}},
	{"the-order-counter-is-ahead-of-an-epoch", 0, "order id", "step", func(r *processRun) {
		if r.last(shard.CmdDue) && len(r.sent) > 1 {
			core(r.M).Holdings.TakeOrder()
		}
	}},
}

func TestMistakesOfProcessesAreNoticed(t *testing.T) {
	if testing.Short() {
		t.Skip("plays many runs of a machine, which one goroutine carries out")
	}
	newRound(t, 1, processSpec)
	play := func(seed uint64, moment string, mistake func(r *processRun)) error {
		r := newProcessRun(seed, make(map[string]int))
		r.Tamper = func(at string) {
			if at == moment {
				mistake(r)
			}
		}
		return r.Play(shard.CmdProcessPut, processSteps)
	}
	for _, c := range processMistakes {
		t.Run(c.name, func(t *testing.T) {
			for seed := range *processSeek {
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
