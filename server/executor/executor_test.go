package executor

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard/hosts"
)

// inBubble runs a fleet test in virtual time.
func inBubble(t *testing.T, test func(t *testing.T)) { synctest.Test(t, test) }

// TestClusterGrows: one host becomes three and five, each with a replica of every shard.
func TestClusterGrows(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f := newFleet(t, "a")
		f.converge()
		f.wantVoters("[a]")
		f.join("b", "")
		f.converge()
		f.wantVoters("[(b) a]")
		f.join("c", "")
		f.converge()
		f.wantVoters("[a b c]")
		f.join("d", "")
		f.join("e", "")
		f.converge()
		f.wantVoters("[a b c d e]")
	})
}

// TestAReplicaThatDoesNotStartIsLoggedNowAndThen: the executor asks again and again, and warns once in ten seconds.
func TestAReplicaThatDoesNotStartIsLoggedNowAndThen(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f := newFleet(t, "a")
		f.converge()
		b := f.machine("b")
		b.refuses.Store(true)
		f.joins(b, "")
		time.Sleep(25 * time.Second)
		f.warned.mu.Lock()
		got, most := f.warned.count["a host did not start a replica"], 3*len(f.shards)
		f.warned.mu.Unlock()
		if got == 0 || got > most {
			t.Errorf("%d warnings in 25 s, want 1 to %d", got, most)
		}
		b.refuses.Store(false)
		f.converge()
		f.wantVoters("[(b) a]")
	})
}

// TestAGovernorWhoseMachineIsEmptiedGoesOn: the records are temporarily missing, as during a rebuild of the governor's
// meta replica.
func TestAGovernorWhoseMachineIsEmptiedGoesOn(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f := newFleet(t, "a", "b", "c")
		f.converge()
		governs := f.leader(hosts.Meta)
		governs.emptied.Store(true)
		time.Sleep(3 * time.Second)
		governs.emptied.Store(false)
		f.join("d", "")
		f.converge()
	})
}

// TestDrainedHostHandsAllOver: its votes and leaderships move to other hosts, and return when it does.
func TestDrainedHostHandsAllOver(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f := newFleet(t, "a", "b", "c")
		f.join("d", "")
		f.converge()
		time.Sleep(15 * time.Second) // until d is stable
		f.must("drain", func(at hosts.At, r *hosts.Records) hosts.Answer { return r.Drain(at, "a") })
		f.until(20*time.Second, "a is offline", func() bool {
			return f.records().Named("a").Current.Variant == protocol.HostOffline
		})
		for _, id := range f.shards {
			if l := f.leader(id); l.name == "a" {
				t.Errorf("a still leads shard %d", id)
			}
			for i, s := 0, f.records().Shard(id); i < len(s.Replicas); i++ {
				if p := &s.Replicas[i]; p.Host == 1 && p.Role == hosts.RoleVoter {
					t.Errorf("a still votes in shard %d", id)
				}
			}
		}
		f.must("undrain", func(at hosts.At, r *hosts.Records) hosts.Answer { return r.Undrain(at, "a") })
		f.converge()
		f.wantVoters("[(a) b c d]")
	})
}

// TestStoppedHostIsOfflineWithinThreeSeconds: it hands over its leaderships first.
func TestStoppedHostIsOfflineWithinThreeSeconds(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f := newFleet(t, "a", "b", "c")
		f.converge()
		for _, id := range f.shards {
			if l := f.leader(id); l.name != "a" {
				_ = l.on(id).Transfer(1)
			}
		}
		f.until(10*time.Second, "a leads all", func() bool {
			return f.leader(0).name == "a" && f.leader(1).name == "a" && f.leader(2).name == "a"
		})
		f.until(10*time.Second, "a governs", f.governed)
		f.named("a").quit()
		f.until(3*time.Second, "a stops", f.named("a").down)
		if h := f.records().Named("a"); h.Current.Variant != protocol.HostOffline ||
			h.Target.Reason != hosts.ReasonShutdown {
			t.Errorf("a is %v for the reason %v", h.Current.Variant, h.Target.Reason)
		}
		f.named("a").start()
		f.converge()
		f.wantVoters("[a b c]")
	})
}

// governed reports whether the meta leader answers governor questions.
func (f *fleet) governed() bool {
	_, err := f.leader(hosts.Meta).executor.Why()
	return err == nil
}

// TestDeadVoterIsReplaced: after the timeout a learner gets its vote; the returning host starts over.
func TestDeadVoterIsReplaced(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f := newFleet(t, "a", "b", "c")
		f.join("d", "")
		f.converge()
		dead := f.named("b")
		dead.kill()
		f.until(10*time.Second, "b has failed", func() bool {
			return f.records().Named("b").Target.Reason == hosts.ReasonSilent
		})
		f.wantVoters("[(d) a b c]")
		f.until(11*time.Minute, "d votes in its place", func() bool { return f.voters() == "[[a c d]]" })
		dead.start()
		f.converge()
		f.wantVoters("[(b) a c d]")
		if replica := dead.disk[1]; replica < 1024 {
			t.Errorf("b has come back as replica %d", replica)
		}
	})
}

// TestHostThatWasWipedIsReplaced: the new process with the same name is a new host, and the old one is expelled.
func TestHostThatWasWipedIsReplaced(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f := newFleet(t, "a", "b", "c")
		f.converge()
		old := f.named("c")
		old.kill()
		old.wiped = true
		time.Sleep(3 * time.Second)
		f.join("c", "c")
		f.converge()
		f.wantVoters("[a b c]")
		if h := f.records().Host(3); h.Current.Variant != protocol.HostExpelled {
			t.Errorf("the old one is %v", h.Current.Variant)
		}
	})
}

// TestExpelledHostLosesAll: by force while it runs; none of its replicas remains.
func TestExpelledHostLosesAll(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f := newFleet(t, "a", "b", "c")
		f.join("d", "")
		f.converge()
		f.must("expel", func(at hosts.At, r *hosts.Records) hosts.Answer { return r.Expel(at, "a", true, 1000) })
		f.converge()
		f.wantVoters("[b c d]")
		if h := f.records().Host(1); h.Current.Variant != protocol.HostExpelled {
			t.Errorf("a is %v", h.Current.Variant)
		}
	})
}

// TestDeadHostsDelayNoOther: with two of five hosts dead, a joining host becomes a learner of all shards within
// seconds.
func TestDeadHostsDelayNoOther(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f := newFleet(t, "a", "b", "c", "d", "e")
		f.converge()
		f.named("d").kill()
		f.named("e").kill()
		time.Sleep(10 * time.Second)
		m := f.join("f", "")
		f.until(15*time.Second, "f has a copy of every shard", func() bool {
			m.mu.Lock()
			defer m.mu.Unlock()
			return len(m.held) == len(f.shards)
		})
	})
}
