package hosts

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/signalbox/signalbox/protocol"
)

// spread sets a policy with the given replica count per data shard.
func (f *fixture) spread(replicas int) Answer {
	to := f.Policy()
	to.Replicas = replicas
	return f.SetPolicy(f.at(), f.Policy(), to)
}

// TestRecordsKeepThePolicyOfReplicas: the policy is saved and loaded.
func TestRecordsKeepThePolicyOfReplicas(t *testing.T) {
	f := newFixture(t, "a", "b", "c")
	for _, replicas := range []int{1, 3, 5} {
		f.done(f.spread(replicas))
		saved := f.Save(nil)
		loaded, err := Load(saved)
		if err != nil || loaded.Policy() != f.Policy() ||
			!bytes.Equal(loaded.Save(nil), saved) {
			t.Errorf("%d replicas: %v", replicas, err)
		}
	}
	f.done(f.spread(0))
	f.refused(protocol.StatusBadRequest, "2 replicas", func() Answer { return f.spread(2) })
}

// TestMoreThanNineHostsJoinWhereShardsAreOnSomeHosts: with more than nine hosts, shards cannot return to all hosts.
func TestMoreThanNineHostsJoinWhereShardsAreOnSomeHosts(t *testing.T) {
	f := newFixture(t, "a", "b", "c")
	join := func(i int) Answer { return f.Join(f.at(), joinOf(fmt.Sprint("h", i), byte(i))) }
	for i := 4; i <= MaxHosts; i++ {
		f.done(join(i))
	}
	f.refused(protocol.StatusPreconditionFailed, "has 9 hosts", func() Answer { return join(10) })
	f.done(f.spread(3))
	for i := MaxHosts + 1; i <= MaxSpreadHosts; i++ {
		f.done(join(i))
	}
	f.refused(protocol.StatusPreconditionFailed, "has 100 hosts", func() Answer { return join(101) })
	f.refused(protocol.StatusPreconditionFailed, "at most 9 hosts, but the cluster has 100", func() Answer {
		return f.spread(0)
	})
	if _, err := Load(f.Save(nil)); err != nil {
		t.Error(err)
	}
}

// TestADrainThatNoHostCanTakeIsRefused: the refusal names the shard, and each other host's reason for not taking its
// replica.
func TestADrainThatNoHostCanTakeIsRefused(t *testing.T) {
	f := newFixture(t, "a", "b", "c")
	f.done(f.spread(3))
	drain := func() Answer { return f.Drain(f.at(), "c") }
	f.refused(protocol.StatusPreconditionFailed,
		"host c cannot be drained: no host can take its replica of shard 1: a has one, b has one", drain)
	f.done(f.Join(f.at(), joinOf("d", 4)))
	f.refused(protocol.StatusPreconditionFailed, "d is offline (joined)", drain)
	f.done(f.Boot(f.at(), bootOf(4, "d", 1)))
	f.done(f.Cordon(f.at(), "d", true))
	f.refused(protocol.StatusPreconditionFailed, "d is cordoned", drain)
	f.done(f.Cordon(f.at(), "d", false))
	f.done(drain())
}

// TestTheLastReplicaIsNotExpelled: not even with force. The host is drained, so that another replica can be added
// first.
func TestTheLastReplicaIsNotExpelled(t *testing.T) {
	f := newFixture(t, "a", "b", "c")
	f.done(f.spread(1))
	f.done(f.known(1, 1, []uint64{2}, nil))
	f.refused(protocol.StatusPreconditionFailed, "0 of 1 voters of shard 1", func() Answer {
		return f.Expel(f.at(), "b", true, 100)
	})
	f.done(f.Drain(f.at(), "b"))
	f.reach("b")
	f.refused(protocol.StatusPreconditionFailed, "0 of 1 voters of shard 1", func() Answer {
		return f.Expel(f.at(), "b", true, 100)
	})
	f.done(f.known(1, 2, []uint64{1}, nil))
	f.done(f.Expel(f.at(), "b", false, 100))
}

func TestHowManyReplicasAreWanted(t *testing.T) {
	for _, x := range []struct{ hosts, replicas, data, meta int }{
		{3, 0, 3, 3}, {3, 3, 3, 3}, {3, 1, 1, 3}, {2, 3, 1, 1}, {4, 5, 3, 3}, {5, 5, 5, 5}, {5, 3, 3, 5},
	} {
		var names []string
		for i := range x.hosts {
			names = append(names, string(rune('a'+i)))
		}
		f := newFixture(t, names...)
		if x.replicas != 0 {
			f.done(f.spread(x.replicas))
		}
		if d, m := f.Wanted(1), f.Wanted(Meta); d != x.data || m != x.meta {
			t.Errorf("%d hosts, %d replicas: %d of a data shard, %d of the meta shard", x.hosts, x.replicas, d, m)
		}
	}
}
