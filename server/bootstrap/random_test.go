package bootstrap

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// play starts, crashes, wipes and replaces hosts (with the replaced host possibly still running) in random order, and
// checks at every step that no two clusters share a host. At the end all faults stop.
func play(seed uint64, planted bug) error {
	names := []string{"a", "b", "c", "d", "e"}
	r := rand.New(rand.NewPCG(seed, 20))
	w := newWorld(r, names[:2+r.IntN(3)]...)
	w.bug = planted
	for step := range 120 {
		name := w.plan.Hosts[w.IntN(len(w.plan.Hosts))].Name
		if err := w.act(name); err != nil {
			return fmt.Errorf("step %d: %w", step, err)
		}
		if err := w.check(); err != nil {
			return fmt.Errorf("step %d: %w", step, err)
		}
	}
	return w.end()
}

// act is one step in a play.
func (w *world) act(name string) error {
	p := w.running[name]
	switch x := w.IntN(100); {
	case x < 45 && len(w.flying) > 0:
		w.deliver(w.IntN(len(w.flying)))
	case x < 75 && p != nil:
		return w.conclude(p)
	case x < 85:
		started := w.start(name)
		started.mayCrash, started.crash = w.IntN(2) == 0, 1+w.IntN(4)
	case x < 90 && p != nil:
		p.dead = true
	case x < 93 && int(w.drawn) < 200:
		if p != nil {
			p.dead = true
		}
		w.wipe(name)
	case x < 95 && p != nil && !p.dead && int(w.drawn) < 200:
		// The directory moves to another machine, and the old process keeps running.
		w.zombies = append(w.zombies, p)
		delete(w.running, name)
		w.wipe(name)
	}
	return nil
}

// end stops all faults, and starts every host once more: each host is bootstrapped, or knows that it was excluded.
func (w *world) end() error {
	for _, z := range w.zombies {
		z.dead = true
	}
	w.zombies = nil
	for _, h := range w.plan.Hosts {
		w.start(h.Name)
	}
	if err := w.rest(); err != nil {
		return err
	}
	if err := w.check(); err != nil {
		return err
	}
	for _, p := range w.all() {
		if !p.disk.id.Bootstrapped() && p.left == nil {
			return fmt.Errorf("at the end %s is neither bootstrapped nor left out: %s", p.name,
				p.Awaited(p.answers, nil))
		}
	}
	return nil
}

func TestNoTwoClustersHaveAHostInCommon(t *testing.T) {
	plays := uint64(10_000)
	if testing.Short() {
		plays = 1_000
	}
	for seed := range plays {
		if err := play(seed, noBug); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
}

// TestPlantedMistakesAreNoticed: the test above detects each missing rule.
func TestPlantedMistakesAreNoticed(t *testing.T) {
	for name, planted := range map[string]bug{
		"promises are volatile": bugVolatile, "promises are only said": bugUnpromised,
		"the decider does not wait": bugHasty,
		"promises are given again":  bugSwitch, "a name makes an initial member": bugAdopt,
	} {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(20_000) {
				if err := play(seed, planted); err != nil {
					t.Logf("seed %d: %v", seed, err)
					return
				}
			}
			t.Error("20,000 plays, and nothing is noticed")
		})
	}
}
