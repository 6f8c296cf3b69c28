//go:build linux

package chaos

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/signalbox/signalbox/server/identity"
	"github.com/signalbox/signalbox/test/clienttest"
	"github.com/signalbox/signalbox/test/history"
	"github.com/signalbox/signalbox/test/workload"
)

// brokenBy returns violations of a single rule.
func brokenBy(h *history.History, rule string) (found []string) {
	for _, r := range history.Rules {
		if r.Name == rule {
			return r.Check(h)
		}
	}
	all, _ := check(h)
	for _, f := range all {
		if f.Rule == rule {
			found = append(found, f.Text)
		}
	}
	return found
}

// lastState is a semaphore's final state.
func lastState(h *history.History, name string) history.State {
	for _, f := range h.Finals {
		if f.Semaphore.Name == name {
			return f.State
		}
	}
	return history.State{}
}

// earlier is a description of a semaphore with data that differs from the final data.
func earlier(t *testing.T, h *history.History, name string) *history.Operation {
	t.Helper()
	last := lastState(h, name)
	for i := range h.Operations {
		o := &h.Operations[i]
		if o.Semaphore.Name == name && o.Found != nil && o.Found.Exists && o.Found.Data != last.Data && o.Age == 0 {
			return o
		}
	}
	t.Fatalf("no client saw other data of %s than the last: %q", name, last.Data)
	return nil
}

// longHold is a hold of a semaphore with a noticeable length.
func longHold(t *testing.T, h *history.History, name string) history.Hold {
	t.Helper()
	for _, x := range h.Holds {
		if x.Semaphore.Name == name && x.To > x.From+time.Millisecond {
			return x
		}
	}
	t.Fatalf("no client held %s", name)
	return history.Hold{}
}

// firstCall is the first call of a kind.
func firstCall(t *testing.T, h *history.History, kind history.CallKind) history.ProcessCall {
	t.Helper()
	for _, c := range h.Calls {
		if c.Kind == kind {
			return c
		}
	}
	t.Fatalf("no handler was called to %s", kind)
	return history.ProcessCall{}
}

// TestLiesAreFound plants lies in the history of a real act, one at a time.
func TestLiesAreFound(t *testing.T) {
	if testing.Short() {
		t.Skip("needs a cluster for some seconds")
	}
	var truth *history.History
	report(t, play(t, Config{Acts: fixed(t, 8*time.Second), OnHistory: func(h *history.History) { truth = h }}))
	if t.Failed() {
		t.FailNow()
	}
	end := truth.Operations[len(truth.Operations)-1].Returned
	for _, lie := range []struct {
		name, rule string
		plant      func(t *testing.T, h *history.History)
	}{
		{"a second holder", "holders", func(t *testing.T, h *history.History) {
			x := longHold(t, h, "lock-0")
			x.Session++
			h.Holds = append(h.Holds, x)
		}},
		{"a fencing token that goes back", "writes", func(t *testing.T, h *history.History) {
			w := h.Writes[len(h.Writes)-1]
			w.Order, w.At, w.Accepted = w.Order-1, end, true
			h.Writes = append(h.Writes, w)
		}},
		{"a holder whose write is refused", "writes", func(t *testing.T, h *history.History) {
			w := h.Writes[len(h.Writes)-1]
			w.At, w.Accepted, w.Believed = end, false, true
			h.Writes = append(h.Writes, w)
		}},
		{"an order id that goes back", "order", func(t *testing.T, h *history.History) {
			h.Operations = append(h.Operations, history.Operation{
				Kind: history.Acquire, Semaphore: longHold(t, h, "lock-0").Semaphore, Session: 1, Count: 1, Wait: -1,
				Called: end, Returned: end + 1, Outcome: history.Done, Order: 1,
			})
		}},
		{"more owners than the limit allows", "states", func(t *testing.T, h *history.History) {
			o := *earlier(t, h, "pool-1")
			o.Found = &history.State{Exists: true, Limit: 7, Revision: 1, Owners: []history.Link{{
				Session: 1, Order: 1, Count: 8,
			}}}
			h.Operations = append(h.Operations, o)
		}},
		{"data that comes back", "once", func(t *testing.T, h *history.History) {
			o := *earlier(t, h, "pool-1")
			found := *o.Found
			found.Revision = lastState(h, "pool-1").Revision + 1
			o.Found = &found
			h.Operations = append(h.Operations, o)
		}},
		{"a strict read that misses what was acknowledged", "linear", func(t *testing.T, h *history.History) {
			for _, o := range h.Operations {
				if strings.HasPrefix(o.Semaphore.Name, workload.CreatedOnce) && o.Outcome == history.Done {
					h.Operations = append(h.Operations, history.Operation{
						Kind: history.Describe, Semaphore: o.Semaphore, Called: end, Returned: end + 1,
						Outcome: history.Done, Found: &history.State{},
					})
					return
				}
			}
			t.Fatal("no program created a semaphore that is created once")
		}},
		{"a revision that is replaced twice", "revisions", func(t *testing.T, h *history.History) {
			h.Operations = append(h.Operations, history.Operation{
				Kind: history.Update, Revision: 7, Data: "x", Outcome: history.Done,
			},
				history.Operation{Kind: history.Update, Revision: 7, Data: "y", Outcome: history.Done})
		}},
		{"a session that ends though its client believes in it", "sessions", func(t *testing.T, h *history.History) {
			h.Sessions = append(h.Sessions, history.Session{
				ID: 1, Timeout: time.Second, From: 1, To: 2, End: history.Expired,
			})
		}},
		{"a session that is given up though nothing is wrong", "sessions", func(t *testing.T, h *history.History) {
			h.Sessions = append(h.Sessions, history.Session{
				ID: 1, Timeout: time.Second, From: end, To: end + time.Minute, End: history.Silent,
			})
		}},
		{"a watcher that sees a revision again", "watches", func(t *testing.T, h *history.History) {
			h.Views = append(h.Views, h.Views[len(h.Views)-1])
		}},
		{"a watcher that misses the last change", "watches", func(t *testing.T, h *history.History) {
			for i := range h.Finals {
				if f := &h.Finals[i]; len(f.Watchers) > 0 {
					f.State.Data = "changed"
					return
				}
			}
			t.Fatal("there are no watchers")
		}},
		{"an owner that no client knows of", "finals", func(t *testing.T, h *history.History) {
			f := &h.Finals[0]
			f.State.Owners = append(slices.Clone(f.State.Owners), history.Link{Session: 1, Order: 1 << 60, Count: 1})
		}},
		{"a target that goes back", "targets", func(t *testing.T, h *history.History) {
			first := h.Targets[0]
			for _, x := range h.Targets {
				if x.Client == first.Client && x.Member == first.Member && x.Generation > first.Generation {
					first.At = end
					h.Targets = append(h.Targets, first)
					return
				}
			}
			t.Fatal("no instance was shown two targets")
		}},
		{"a version that comes before its delay is over", "delays", func(t *testing.T, h *history.History) {
			for i := range h.Rollouts {
				for j := range h.Rollouts[i].Locations {
					h.Rollouts[i].Locations[j].Delay += time.Hour
				}
			}
		}},
		{"a location that stays behind", "converged", func(t *testing.T, h *history.History) {
			h.Rollouts[0].LastSeq++
		}},
		{"a round that begins twice", "handlers", func(t *testing.T, h *history.History) {
			c := firstCall(t, h, history.CallPrepare)
			c.Place--
			h.Calls = append(h.Calls, c)
		}},
		{"a request that is handled twice", "exchanges", func(t *testing.T, h *history.History) {
			h.Calls = append(h.Calls, firstCall(t, h, history.CallRequest))
		}},
		{"a result that its coordinator never returned", "epochs", func(t *testing.T, h *history.History) {
			c := firstCall(t, h, history.CallComplete)
			c.Epoch++
			h.Calls = append(h.Calls, c)
		}},
		{"epochs without a cause", "causes", func(t *testing.T, h *history.History) {
			h.Changes = slices.DeleteFunc(h.Changes, func(c history.ProcessChange) bool {
				return c.Kind != history.MemberCompletes
			})
		}},
		{"a round that goes on for ever", "rounds", func(t *testing.T, h *history.History) {
			h.Processes[0].State = "running"
		}},
	} {
		t.Run(lie.name, func(t *testing.T) {
			h := *truth
			h.Operations, h.Holds, h.Writes = slices.Clone(h.Operations), slices.Clone(h.Holds), slices.Clone(h.Writes)
			h.Views, h.Sessions, h.Finals = slices.Clone(h.Views), slices.Clone(h.Sessions), slices.Clone(h.Finals)
			h.Targets, h.Rollouts = slices.Clone(h.Targets), slices.Clone(h.Rollouts)
			h.Calls, h.Changes = slices.Clone(h.Calls), slices.Clone(h.Changes)
			h.Processes = slices.Clone(h.Processes)
			for i := range h.Rollouts {
				h.Rollouts[i].Locations = slices.Clone(h.Rollouts[i].Locations)
			}
			lie.plant(t, &h)
			if len(brokenBy(&h, lie.rule)) == 0 {
				t.Errorf("it does not break the rule %s", lie.rule)
			}
		})
	}
}

// forget restarts the whole cluster with older disk contents.
func forget(t *trial, f Fault) (end func()) {
	free, ok := t.cluster.claim(f.Order...)
	if !ok {
		return nil
	}
	exchange := func(swap func(data, aside string) error) {
		for _, h := range f.Order {
			t.cluster.kill(h)
			if err := swap(t.cluster.places[h].Dir, t.cluster.places[h].Dir+".aside"); err != nil {
				t.cluster.addProblem(err.Error())
			}
		}
		t.up(f.Order...)
	}
	exchange(func(data, aside string) error {
		// Without the record by which a directory detects that it is a copy.
		return errors.Join(os.CopyFS(aside, os.DirFS(data)), os.Remove(filepath.Join(aside, identity.AnchorName)))
	})
	return func() {
		defer free()
		exchange(func(data, aside string) error {
			if err := os.RemoveAll(data); err != nil {
				return err
			}
			return os.Rename(aside, data)
		})
	}
}

// killUnrecorded kills a host without informing the cluster object, until restarted: an act that ends with a missing
// host takes minutes.
func killUnrecorded(t *trial, f Fault) (end func()) {
	free, ok := t.cluster.claim(f.host())
	if !ok {
		return nil
	}
	_ = syscall.Kill(t.cluster.host(f.host()).PID(), syscall.SIGKILL)
	return func() {
		defer free()
		<-t.cluster.host(f.host()).Gone()
		t.up(f.host())
	}
}

// TestAClusterThatBreaksItsPromisesIsFound has real clusters lie.
func TestAClusterThatBreaksItsPromisesIsFound(t *testing.T) {
	if testing.Short() {
		t.Skip("needs clusters for some seconds")
	}
	for _, lie := range []struct {
		name string
		lie  func(*trial, Fault) func()
		says string // some finding
		long bool
	}{
		{"all hosts forget the last seconds", forget, "though that was acknowledged", true},
		{"a host ends by itself", killUnrecorded, "ended by itself", false},
	} {
		if lie.long && !*clienttest.AllBugs {
			continue
		}
		t.Run(lie.name, func(t *testing.T) {
			says := func(f history.Finding) bool { return strings.Contains(f.Text, lie.says) }
			var r *Result
			// On a slow machine nothing is acknowledged in a short time.
			for _, long := range []time.Duration{2 * time.Second, 6 * time.Second, 20 * time.Second} {
				r = play(t, Config{
					Acts:         fixed(t, long+3*time.Second, Fault{Kind: "lie", At: time.Second, For: long}),
					finalTimeout: 3 * time.Second, // its clients never agree
					lies:         map[Kind]func(*trial, Fault) func(){"lie": lie.lie},
				})
				if slices.ContainsFunc(r.Found, says) {
					break
				}
				if len(r.Found) > 0 {
					_ = os.RemoveAll(filepath.Dir(r.History))
				}
			}
			if !slices.ContainsFunc(r.Found, says) {
				t.Fatalf("nothing that was found says %q: %v", lie.says, r.Found)
			}
			if h, err := history.LoadFile(r.History); err != nil {
				t.Error(err)
			} else if found, _ := check(h); len(found) == 0 {
				t.Error("the history that was kept breaks no rule")
			}
			_ = os.RemoveAll(filepath.Dir(r.History))
		})
	}
}
