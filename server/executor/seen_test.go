package executor

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/host"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/governor"
	"github.com/signalbox/signalbox/shard/hosts"
	"github.com/signalbox/signalbox/shard/plan"
)

// TestLagIsHowLongAgoALeaderHadNoMore: by recorded positions; below all of them the lag is unknown, and increases with
// time.
func TestLagIsHowLongAgoALeaderHadNoMore(t *testing.T) {
	start := time.Now()
	k := &track{}
	for i := range 10 {
		k.note(uint64(100+10*i), start.Add(time.Duration(i)*sampleEvery))
	}
	k.note(190, start.Add(20*sampleEvery))
	now := start.Add(21 * sampleEvery)
	for index, want := range map[uint64]time.Duration{190: 0, 250: 0, 189: 13 * sampleEvery, 180: 13 * sampleEvery,
		100: 21 * sampleEvery} {
		if got, known := k.behind(index, now); got != want || !known {
			t.Errorf("index %d lags for %v, want %v", index, got, want)
		}
	}
	if _, known := k.behind(99, now); known {
		t.Error("the lag below all notes is known")
	}
	if (&track{}).lag(7, 5, now) != leastBehind {
		t.Error("a leader that has noted nothing takes a replica for up to date")
	}
	for i := range 3 * samples {
		k.note(uint64(1000+i), now)
	}
	for _, s := range []struct {
		index uint64
		after time.Duration
		want  time.Duration
	}{{300, 0, leastBehind}, {500, time.Minute, time.Minute}, {2000, 2 * time.Hour, 0},
		{300, 3 * time.Hour, 3 * time.Hour}} {
		if got := k.lag(7, s.index, now.Add(s.after)); got != s.want {
			t.Errorf("a replica at %d lags for %v after %v, want %v", s.index, got, s.after, s.want)
		}
	}
	if len(k.notes) > samples {
		t.Errorf("%d notes are kept", len(k.notes))
	}
}

// TestIdleClusterFailsNoHost: an entry after a long idle time does not make a host look stuck.
func TestIdleClusterFailsNoHost(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f := newFleet(t, "a", "b", "c")
		f.converge()
		time.Sleep(10 * time.Minute)
		f.policy(func(p *host.Policy) { p.Copies = 3 })
		time.Sleep(time.Minute)
		for _, h := range f.records().Hosts() {
			if !h.Online() || h.Failures != 0 {
				t.Errorf("host %s has failed %d times", h.Name, h.Failures)
			}
		}
	})
}

// TestHostThatHangsIsOffline: it is considered failed, and returns by itself.
func TestHostThatHangsIsOffline(t *testing.T) {
	for name, hang := range map[string]struct {
		begin, end func(f *fleet, h shard.HostID)
		reason     hosts.Reason
	}{
		"its process is stopped": {func(f *fleet, h shard.HostID) { f.net.Pause(h) },
			func(f *fleet, h shard.HostID) { f.net.Resume(h) }, hosts.ReasonSilent},
		"it is cut off": {func(f *fleet, h shard.HostID) { f.net.Isolate(h) },
			func(f *fleet, h shard.HostID) { f.net.HealAll() }, hosts.ReasonSilent},
		"it takes no entries": {func(f *fleet, h shard.HostID) {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.progress = func(id hosts.ShardID, p *shard.Progress) {
				if id == hosts.Meta && p.Replica == uint64(h) {
					p.Index = 5
				}
			}
		}, func(f *fleet, _ shard.HostID) {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.progress = nil
		}, hosts.ReasonStuck},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				f := newFleet(t, "a", "b", "c")
				f.converge()
				hung := f.named(map[string]string{"a": "b", "b": "c", "c": "a"}[f.leader(hosts.Meta).name])
				hang.begin(f, hung.id)
				f.policy(func(p *host.Policy) { p.Copies = 3 })
				f.until(20*time.Second, "it has failed", func() bool {
					h := f.records().Host(hung.id)
					return h.Target.Reason == hang.reason && h.Current.Variant == protocol.HostOffline
				})
				hang.end(f, hung.id)
				f.converge()
				if h := f.records().Host(hung.id); !h.Online() || h.Failures != 1 {
					t.Errorf("%v, failed %d times", h.Target, h.Failures)
				}
			})
		})
	}
}

// TestAHostThatAnswersNoCallIsSilent: from the first call of the term until the host answers.
func TestAHostThatAnswersNoCallIsSilent(t *testing.T) {
	records := hosts.New("c", nil)
	records.Bootstrap(hosts.At{Now: 1000}, []hosts.InitialMember{
		{ID: 1, Name: "a", Incarnation: hosts.Incarnation{1}, Addresses: hosts.Addresses{Raft: "a:1", Client: "a:2"}},
		{ID: 2, Name: "b", Incarnation: hosts.Incarnation{2}, Addresses: hosts.Addresses{Raft: "b:1", Client: "b:2"}}})
	now := time.Now()
	term, w := newTerm(&Executor{config: Config{Self: 1}}, 1), &watch{host: 2, begun: now.Add(-6 * time.Second)}
	term.watches[2] = w
	state := &State{Records: records, Plan: plan.New(governor.Config())}
	if h := term.see(state, now).Hosts[0]; !h.Tried || h.SilentFor != 6000 || !h.Unheard {
		t.Errorf("without an answer: %+v", h)
	}
	w.asked, w.report = now.Add(-time.Second), &report{incarnation: hosts.Incarnation{2}}
	if h := term.see(state, now).Hosts[0]; !h.Tried || h.SilentFor != 1000 || h.Unheard {
		t.Errorf("with an answer: %+v", h)
	}
}

// TestAHostWithAFullDiskIsGivenNothingToLead: as long as it reports a nearly full disk.
func TestAHostWithAFullDiskIsGivenNothingToLead(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f := newFleet(t, "a", "b", "c")
		f.converge()
		from := f.leader(1)
		to := f.named(map[string]string{"a": "b", "b": "c", "c": "a"}[from.name])
		to.full.Store(true)
		time.Sleep(2 * reportEvery) // the governor has been notified
		f.must("transfer", func(at hosts.At, r *hosts.Records) hosts.Answer { return r.Transfer(at, 1, to.name) })
		time.Sleep(10 * time.Second)
		why, err := f.leader(hosts.Meta).executor.Why()
		if text := fmt.Sprint(why); err != nil || !strings.Contains(text, to.name+" cannot lead it now") {
			t.Errorf("%s, %v", text, err)
		}
		if now := f.leader(1); now != from {
			t.Errorf("%s leads, and %s did before", now.name, from.name)
		}
		to.full.Store(false)
		f.until(20*time.Second, "it leads", func() bool { return f.leader(1) == to })
	})
}

// TestLearnerThatIsFilledIsNotStuck: it applies no entries during a snapshot transfer, and that is reported.
func TestLearnerThatIsFilledIsNotStuck(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f := newFleet(t, "a", "b")
		f.converge()
		f.mu.Lock()
		f.progress = func(id hosts.ShardID, p *shard.Progress) {
			if p.Replica >= 1024 && f.host(3) != nil {
				p.Index = 0
				if id == hosts.Meta && time.Since(f.began) < 2*time.Minute {
					p.Percent, p.Rate = 41, 12_000_000
				}
			}
		}
		f.mu.Unlock()
		f.join("c", "")
		time.Sleep(time.Minute)
		why, err := f.leader(hosts.Meta).executor.Why()
		if text := fmt.Sprint(why); err != nil || !strings.Contains(text, "shard 0: c waits for its snapshot, "+
			"41 %, 12000000 bytes/s") {
			t.Errorf("%s, %v", text, err)
		}
		time.Sleep(2 * time.Minute)
		if h := f.records().Named("c"); h.Failures != 0 {
			t.Errorf("c has failed: %v", h.Target)
		}
	})
}

// TestQuestionsAreAnsweredByTheGovernor: a dry run, open steps, reasons and redundancy, answered by one host only.
func TestQuestionsAreAnsweredByTheGovernor(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f := newFleet(t, "a", "b", "c")
		f.converge()
		m := f.leader(hosts.Meta)
		for _, other := range f.all() {
			if _, err := other.executor.Why(); (other == m) == errors.Is(err, ErrNotGoverning) {
				t.Errorf("%s governs: %t; it answers %v", other.name, other == m, err)
			}
		}
		v, err := m.executor.View()
		list := governor.Redundancies(v)
		if err != nil || len(list) != 3 || list[1].Live != 3 || list[1].Tolerated != 1 {
			t.Errorf("%+v, %v", list, err)
		}
		f.gate = func(_ *machine, act string, over bool) { // effects hang
			if strings.HasPrefix(act, "effect") || strings.HasPrefix(act, "add") {
				<-f.ctx.Done()
			}
		}
		f.join("d", "")
		f.until(10*time.Second, "a step is open", func() bool {
			steps, err := m.executor.Steps()
			return err == nil && len(steps) == 1 && steps[0].Text == "shard 0: adding d as a learner, replica 1024"
		})
		forecast, texts, err := m.executor.Plan()
		if err != nil || len(forecast.Steps) < 4 || texts[0] != "shard 0: adding d as a learner, replica 1024" ||
			!strings.Contains(fmt.Sprint(texts), "shard 2: adding d as a learner") {
			t.Errorf("%v, %v", texts, err)
		}
	})
}

// TestANewGovernorTakesNoDeadVoterForALiveOne: the meta leader is expelled while one of three voters is dead. The next
// leader has not heard from any host, and must not remove the former leader: no majority would remain.
func TestANewGovernorTakesNoDeadVoterForALiveOne(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f := newFleet(t, "a", "b", "c")
		f.converge()
		f.join("d", "")
		f.converge()
		f.policy(func(p *host.Policy) { p.ReplaceAfter, p.StableFor = 10*time.Minute, 30*time.Second })
		from := f.leader(hosts.Meta)
		dead := f.named(map[string]string{"a": "b", "b": "c", "c": "a"}[from.name])
		f.named("d").kill() // so that it cannot vote soon
		f.until(20*time.Second, "d has failed", func() bool { return !f.records().Named("d").Online() })
		f.named("d").start()
		f.until(20*time.Second, "d is back", func() bool { return f.records().Named("d").Online() })
		dead.kill()
		f.until(20*time.Second, "it has failed", func() bool { return !f.records().Host(dead.id).Online() })
		f.must("expel", func(at hosts.At, r *hosts.Records) hosts.Answer { return r.Expel(at, from.name, true, 1000) })
		f.until(2*time.Minute, "it has left", func() bool {
			r := f.records()
			return r != nil && r.Host(from.id).Current.Variant == protocol.HostExpelled
		})
		dead.start()
		f.converge()
	})
}
