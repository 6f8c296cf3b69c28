package servertest

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/meta"
)

// beginnings are the ways for a cluster to get its first three hosts as voters.
var beginnings = []struct {
	name           string
	initialMembers int
}{{"one host that others joined", 1}, {"three hosts of the bootstrap", 3}}

// states are a host's possible states at its process's end, with their setup.
var states = []struct {
	name     string
	bring    func(t *testing.T, c *Cluster, id shard.HostID)
	replaced bool // the state needs another host to take over the votes
}{
	{"online", func(*testing.T, *Cluster, shard.HostID) {}, false},
	{"cordoned", func(t *testing.T, c *Cluster, id shard.HostID) {
		c.mustDo(t, &meta.HostCordon{Host: Name(id), On: true})
	}, false},
	{"being drained", func(t *testing.T, c *Cluster, id shard.HostID) {
		c.mustDo(t, &meta.HostDrain{Host: Name(id)})
	}, false},
	{"drained", func(t *testing.T, c *Cluster, id shard.HostID) { c.drain(t, id) }, false},
	{"drained, started and not given anything yet", func(t *testing.T, c *Cluster, id shard.HostID) {
		c.drain(t, id)
		until(t, "it has no replica", func() bool { return c.replicasOf(id) == 0 })
		c.Crash(id, false)
		if err := c.Restart(id); err != nil {
			t.Fatal(err)
		}
		until(t, "it is to be online", func() bool { return c.Records().Host(id).Wanted() })
	}, true},
	{"taken for failed", func(t *testing.T, c *Cluster, id shard.HostID) {
		c.Isolate(id)
		until(t, "it is taken for failed", func() bool {
			h := c.Records().Host(id)
			return h.Target.Reason.Failed() && h.Reached()
		})
	}, false},
}

// drain drains a host, and waits until the drain is complete.
func (c *Cluster) drain(t *testing.T, id shard.HostID) {
	t.Helper()
	c.mustDo(t, &meta.HostDrain{Host: Name(id)})
	until(t, "it is drained", func() bool {
		h := c.Records().Host(id)
		return h.Current.Variant == protocol.HostOffline && h.Reached()
	})
}

// replicasOf counts a host's recorded replicas.
func (c *Cluster) replicasOf(id shard.HostID) (n int) {
	for _, s := range c.Records().Shards() {
		if s.On(id) != nil {
			n++
		}
	}
	return n
}

// atRest reports whether all hosts are online and ready with all shards, and each shard has the given voter count.
func (c *Cluster) atRest(voters int) bool {
	r := c.Records()
	if r == nil {
		return false
	}
	for _, id := range c.Members() {
		h := c.Host(id)
		if h == nil || h.Ready() != nil || !r.Host(id).Online() || c.replicasOf(id) != len(r.Shards()) {
			return false
		}
	}
	for _, s := range r.Shards() {
		if s.Voters() != voters {
			return false
		}
	}
	return true
}

// TestAHostComesBackFromEveryState: a host returns to normal however it became a member, from every state, after a
// clean or abrupt end, with or without a host to take over its votes.
func TestAHostComesBackFromEveryState(t *testing.T) {
	for _, beginning := range beginnings {
		for _, spares := range []int{0, 1} {
			t.Run(fmt.Sprintf("%s, and %d more", beginning.name, spares), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					c := bed(t, beginning.initialMembers, noHalt(t))
					for id := beginning.initialMembers + 1; id <= 3+spares; id++ {
						c.mustJoin(t, shard.HostID(id), "")
					}
					until(t, "all is well", func() bool { return c.atRest(3) })
					for _, state := range states {
						for _, voter := range []shard.HostID{1, 2} {
							if spares > 0 || !state.replaced {
								c.endIn(t, voter, state.name, state.bring)
							}
						}
						if spares > 0 && !state.replaced {
							c.endIn(t, 4, state.name, state.bring)
						}
					}
				})
			})
		}
	}
}

// arrange makes the first three hosts vote and the remaining hosts learn, so that any learner can take over a vote.
func (c *Cluster) arrange(t *testing.T) {
	t.Helper()
	spare := shard.HostID(4)
	for c.Host(spare) != nil {
		time.Sleep(2 * time.Second) // a host that lost its vote can get a vote again
		if voters, _ := c.votesIn(0); !voters[spare] {
			return
		}
		c.drain(t, spare)
		c.mustDo(t, &meta.HostUndrain{Host: Name(spare)})
		until(t, "it learns", func() bool { return c.atRest(3) })
	}
}

// endIn ends a host's process in a state, cleanly and abruptly, and checks that the host returns.
func (c *Cluster) endIn(t *testing.T, id shard.HostID, state string, bring func(*testing.T, *Cluster, shard.HostID)) {
	for how, end := range map[string]func(){
		"stopped": func() {
			c.Host(id).Leave(3 * time.Second)
			c.Stop(id)
			until(t, "another host leads the meta shard", func() bool { return c.Records() != nil })
			if h := c.Records().Host(id); h.Wanted() {
				t.Errorf("host %d was %s, has stopped, and is to be %+v", id, state, h.Target)
			}
		},
		"killed": func() { c.Crash(id, false) },
	} {
		c.arrange(t)
		bring(t, c, id)
		end()
		c.Heal()
		if err := c.Restart(id); err != nil {
			t.Fatal(err)
		}
		what := fmt.Sprintf("host %d that was %s and %s ", id, state, how)
		until(t, what+"is online", func() bool { return c.Records() != nil && c.Records().Host(id).Online() })
		c.mustDo(t, &meta.HostCordon{Host: Name(id)}) // the host gets no replicas before
		until(t, what+"is what the others are", func() bool { return c.atRest(3) })
	}
}
