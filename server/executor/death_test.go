package executor

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/peerrpc"
	"github.com/signalbox/signalbox/shard/hosts"
)

// moment is a point at which a governor can die: before or after an action.
type moment struct {
	act  string
	over bool
	nth  int // among the points with this action, from 1
}

// killAt kills the governor's host at a given point, and restarts the host. The zero value never matches. killAt
// returns a function listing the passed points, and a function that reports whether the host was killed.
func (f *fleet) killAt(when moment) (passed func() []moment, killed func() bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var come []moment
	counts, now := map[moment]int{}, false
	f.gate = func(at *machine, act string, over bool) {
		f.mu.Lock()
		is := moment{act: act, over: over}
		counts[is]++
		is.nth = counts[is]
		come = append(come, is)
		kills := is == when
		now = now || kills
		f.mu.Unlock()
		if kills {
			at.kill()
			time.AfterFunc(2*time.Second, at.start)
		}
	}
	return func() []moment {
			f.mu.Lock()
			defer f.mu.Unlock()
			return slices.Clone(come)
		}, func() bool {
			f.mu.Lock()
			defer f.mu.Unlock()
			return now
		}
}

// TestGovernorDiesBetweenAnyTwoActs: the governor's host is killed before or after each action in a join. Each time the
// new host ends with exactly one replica of each shard, and nothing is left unfinished.
func TestGovernorDiesBetweenAnyTwoActs(t *testing.T) {
	if testing.Short() {
		t.Skip("it plays a join once for each act")
	}
	join := func(when moment) (passed []moment, killed bool) {
		inBubble(t, func(t *testing.T) {
			f := newFleet(t, "a", "b", "c")
			f.converge()
			f.changes = nil
			come, at := f.killAt(when)
			f.join("d", "")
			f.converge()
			passed, killed = come(), at()
			f.wantVoters("[(d) a b c]")
			for _, s := range f.records().Shards() {
				if len(s.Replicas) != 4 {
					t.Errorf("%+v: shard %d has on record %+v", when, s.ID, s.Replicas)
				}
			}
			adds := map[string]int{}
			for _, c := range f.changes {
				adds[c]++
			}
			for _, c := range []string{"add 0", "add 1", "add 2"} {
				if adds[c] > 1 {
					t.Errorf("%+v: %s came %d times", when, c, adds[c])
				}
			}
		})
		return passed, killed
	}
	moments, _ := join(moment{})
	// The order of simultaneous actions, and the number of some, depends on scheduling: a later occurrence of an action
	// may not repeat. First occurrences always do, except for the shard whose replica is requested.
	cut, died := map[moment]bool{}, 0
	for _, when := range moments {
		_, killed := join(when)
		if t.Failed() {
			return
		}
		if !killed {
			continue
		}
		died++
		act := when.act
		if strings.HasPrefix(act, "effect HOLD of shard") {
			act = "effect HOLD"
		}
		cut[moment{act: act, over: when.over}] = true
	}
	t.Logf("%d governors died, at %d moments", died, len(moments))
	for _, act := range []string{"verb 1", "verb 4", "verb 6", "verb 8", "add 0", "effect HOLD"} {
		for _, over := range []bool{false, true} {
			if !cut[moment{act: act, over: over}] {
				t.Errorf("no governor died at %q, over %t", act, over)
			}
		}
	}
}

// TestOldGovernorsCallIsRefused: a call in flight when its governor lost leadership arrives after the next governor has
// done the work, and has no effect.
func TestOldGovernorsCallIsRefused(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f := newFleet(t, "a", "b", "c")
		f.converge()
		old := f.leader(hosts.Meta)
		other := f.named(map[string]string{"a": "b", "b": "c", "c": "a"}[old.name])
		for _, id := range f.shards[1:] {
			_ = f.leader(id).on(id).Transfer(other.id)
		}
		f.until(5*time.Second, "another host leads the data shards", func() bool {
			return f.leader(1) == other && f.leader(2) == other
		})
		release, held := make(chan struct{}), false
		f.gate = func(at *machine, act string, over bool) {
			f.mu.Lock()
			wait := at == old && act == "effect ADD of shard 1" && !over
			held = held || wait
			f.mu.Unlock()
			if wait {
				<-release
			}
		}
		f.join("d", "")
		f.until(time.Minute, "the call is under way", func() bool {
			f.mu.Lock()
			defer f.mu.Unlock()
			return held
		})
		_ = old.on(hosts.Meta).Transfer(other.id)
		f.until(5*time.Second, "another host governs", func() bool {
			return f.leader(hosts.Meta) == other && f.governed()
		})
		f.converge()
		before := f.net.Group(1).Membership().Change
		close(release)
		time.Sleep(5 * time.Second)
		f.converge()
		if now := f.net.Group(1).Membership().Change; now != before {
			t.Errorf("the membership has changed from %d to %d", before, now)
		}
		f.wantVoters("[(d) a b c]")
	})
}

// TestOldTermsHaveNoEffect: an agent refuses a governor with an outdated term, as known from other hosts and from the
// agent's meta replica.
func TestOldTermsHaveNoEffect(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f := newFleet(t, "a", "b", "c")
		f.converge()
		term := f.leader(hosts.Meta).Leadership().Term
		for _, m := range f.all() {
			for _, ask := range []protocol.RequestMessage{
				&protocol.ShardReport{Term: term - 1},
				&protocol.StepExecute{Term: term - 1, Effect: protocol.EffectTransfer, HostID: 1},
				&protocol.StepExecute{Term: term - 1, Effect: protocol.EffectDeleteReplica, ReplicaID: 9,
					Incarnation: m.incarnation[:]},
			} {
				if status := m.asked(ask).Status; status != protocol.StatusStale {
					t.Errorf("%s answers %+v by %v", m.name, ask, status)
				}
			}
			if status := m.asked(&protocol.ShardReport{Term: term + 5}).Status; status != protocol.StatusSuccess {
				t.Errorf("%s refuses a later term: %v", m.name, status)
			}
			if status := m.asked(&protocol.ShardReport{Term: term + 4}).Status; status != protocol.StatusStale {
				t.Errorf("%s has heard of term %d, and answers %d by %v", m.name, term+5, term+4, status)
			}
		}
	})
}

// asked has an agent answer a request.
func (m *machine) asked(ask protocol.RequestMessage) protocol.Result {
	a, err := protocol.NewAnswerDecoder().Decode(m.agent.Answer(context.Background(), peerrpc.Request(ask)))
	if err != nil {
		m.fleet.Fatal(err)
	}
	return a.Result
}

// TestEffectsAreRefused: an agent refuses requests for a foreign shard, directory or membership.
func TestEffectsAreRefused(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f := newFleet(t, "a", "b", "c")
		f.converge()
		leader := f.leader(1)
		follower := f.named(map[string]string{"a": "b", "b": "c", "c": "a"}[leader.name])
		other := hosts.Incarnation{99}
		for _, c := range []struct {
			name string
			at   *machine
			ask  protocol.StepExecute
			want protocol.Status
		}{
			{"a follower adds", follower, protocol.StepExecute{Effect: protocol.EffectAdd, ShardID: 1, ReplicaID: 2000,
				HostID: 4, Incarnation: other[:]}, protocol.StatusMoved},
			{"for another membership", leader, protocol.StepExecute{Effect: protocol.EffectAdd, ShardID: 1,
				ReplicaID: 2000, HostID: 4, Incarnation: other[:], Change: 77}, protocol.StatusFenced},
			{"without an incarnation", leader, protocol.StepExecute{Effect: protocol.EffectAdd, ShardID: 1,
				ReplicaID: 2000, HostID: 4}, protocol.StatusBadRequest},
			{"a voter is promoted", leader, protocol.StepExecute{Effect: protocol.EffectPromote, ShardID: 1,
				ReplicaID: 1}, protocol.StatusPreconditionFailed},
			{"a shard that is not there", leader, protocol.StepExecute{Effect: protocol.EffectRemove, ShardID: 9},
				protocol.StatusMoved},
			{"a host that has no vote leads", leader, protocol.StepExecute{Effect: protocol.EffectTransfer, ShardID: 1,
				HostID: 9}, protocol.StatusNotFound},
			{"another directory clears", leader, protocol.StepExecute{Effect: protocol.EffectDeleteReplica, ShardID: 1,
				ReplicaID: 1, Incarnation: other[:]}, protocol.StatusBadRequest},
			{"another directory starts", leader, protocol.StepExecute{Effect: protocol.EffectHold, ShardID: 1,
				ReplicaID: 2000, Incarnation: other[:]}, protocol.StatusBadRequest},
			{"an effect that is not known", leader, protocol.StepExecute{Effect: 99, ShardID: 1},
				protocol.StatusBadRequest},
		} {
			c.ask.Term = f.leader(hosts.Meta).Leadership().Term
			before := f.voters()
			if got := c.at.asked(&c.ask).Status; got != c.want {
				t.Errorf("%s: %v, want %v", c.name, got, c.want)
			}
			if f.voters() != before {
				t.Errorf("%s: the members are %s", c.name, f.voters())
			}
		}
		for _, bytes := range [][]byte{nil, {0xc0}, peerrpc.Request(&protocol.HostLoad{})} {
			answer, err := protocol.NewAnswerDecoder().Decode(leader.agent.Answer(t.Context(), bytes))
			if err != nil || answer.Result.Status != protocol.StatusBadRequest {
				t.Errorf("% x is answered by %+v, %v", bytes, answer, err)
			}
		}
	})
}
