//go:build linux

package survival_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	sdk "github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/admin"
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
)

// shardsOfFive is the data shard count in the test's cluster.
const shardsOfFive = 4

// clientOf returns a client that reaches only the given hosts, with a session whose home is a shard to be lost.
func (l *losing) clientOf(r *record, hosts []string) *client {
	l.t.Helper()
	for {
		c, err := start(hosts, "/lost", 15*time.Second, r)
		if err != nil {
			l.t.Fatal(err)
		}
		if slices.Contains(l.lost, shardOf(shardsOfFive, shard.SessionID(c.id).Slot())) {
			c.confine()
			return c
		}
		c.disconnect()
	}
}

// TestHostsThatWereLostComeBackTogether: two hosts out of five are partitioned and considered lost, and one of their
// shards is rebuilt. The two hosts are a majority in the old group, reach each other and a client, and continue to
// grant. Their fencing tokens are below the new group's tokens, so a store refuses the old tokens. As soon as the two
// reach other hosts, they are refused.
func TestHostsThatWereLostComeBackTogether(t *testing.T) {
	t.Parallel()
	if !inOwnNetwork(t) {
		return
	}
	w := wiring{t}
	hosts := w.start(fmt.Sprint(shardsOfFive), "a", "b", "c", "d", "e")
	l := &losing{spread: &spread{t: t, hosts: hosts}}
	for _, h := range hosts {
		l.places = append(l.places, &place{h.Place})
	}
	l.counter = newCounter(t, l.places)
	l.operator = admin.New(l.counter.box)
	policy := func(p *admin.Policy) {
		p.Replicas, p.OfflineAfter, p.ReplaceAfter = 3, time.Second, time.Hour
	}
	if _, err := l.operator.SetPolicy(t.Context(), policy, admin.ChangeInfo{}); err != nil {
		t.Fatal(err)
	}
	newNode(t, hosts, "/lost", protocol.NodeConfig{SelfCheckPeriodMillis: 500, SessionGracePeriodMillis: 1000,
		AttachConsistency: protocol.ConsistencyRelaxed})
	n, err := l.counter.box.DescribeNode(t.Context(), "/lost")
	if err != nil {
		t.Fatal(err)
	}
	l.node = n.ID
	hosts[0].await("each shard has three replicas, and no host more than its part", func() bool {
		return l.atRest(shardsOfFive)
	})
	pair := l.pair()
	lock := l.lockOf(shardsOfFive, func(id uint64) bool { return slices.Contains(l.lost, id) })
	// A session with a two-second timeout may end while the lost hosts' shards are being fixed: then the next session
	// asks. A recovered shard grants nothing until the lost hosts are expelled and the longest timeout has passed.
	fence := func() (number uint64) {
		t.Helper()
		hosts[0].must(hosts[0].Await("a fence", 2*patience, func() bool {
			s, err := l.counter.box.Session(t.Context(), "/lost", sdk.SessionTimeout(2*time.Second))
			if err != nil {
				return false
			}
			defer s.Close(t.Context())
			lease, err := s.Ephemeral(lock).Acquire(t.Context(), sdk.Wait(patience))
			if err == nil {
				number = lease.Fence()
			}
			return err == nil
		}))
		return number
	}
	before := fence()
	r := newRecord(t)
	loner := l.clientOf(r, addresses([]*host{hosts[pair[0]], hosts[pair[1]]}))
	defer loner.disconnect()
	lost := []*host{hosts[pair[0]], hosts[pair[1]]}
	heal := w.cut(hosts, &place{lost[0].Place}, &place{lost[1].Place})
	for _, id := range l.lost {
		hosts[0].await("the shard is made anew", func() bool {
			_, err := l.operator.RecoverShard(t.Context(), id, false, admin.ChangeInfo{Reason: "they burnt"})
			return err == nil
		})
	}
	renewed := fence()
	old, err := loner.acquire(lock)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("the fence was %d before the loss, and is %d after it; hosts %s and %s gave %d then",
		before, renewed, lost[0].Place.Name, lost[1].Place.Name, old)
	if old <= before || old >= renewed {
		t.Errorf("the hosts that were lost gave fence %d then", old)
	}

	// The lost hosts are restarted, and then reach the other hosts.
	for i, h := range lost {
		h.Kill()
		lost[i] = l.places[pair[i]].serve(t)
	}
	if again := fence(); again <= renewed {
		t.Errorf("fence %d comes after %d", again, renewed)
	}
	heal()
	for _, h := range lost {
		h.awaitRefused("was expelled")
	}
	r.stop()
	if again := fence(); again <= renewed {
		t.Errorf("fence %d comes after %d, with all hosts in reach", again, renewed)
	}
}
