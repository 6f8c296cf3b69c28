package executor

import (
	"testing"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/governor"
	"github.com/signalbox/signalbox/shard/hosts"
	"github.com/signalbox/signalbox/test/memlog"
)

// lose kills hosts of a shard until so many of its voters are left, and returns the shard: one whose hosts the meta
// shard goes on without.
func (f *fleet) lose(left int) hosts.ShardID {
	f.Helper()
	votes := make(map[shard.HostID]int)
	for _, m := range f.net.Group(memlog.GroupID(hosts.Meta)).Membership().Members {
		if m.Voter {
			votes[m.Host] = 1
		}
	}
	for _, id := range f.shards[1:] {
		members, lost := f.net.Group(memlog.GroupID(id)).Membership().Members, 0
		members = members[:len(members)-left]
		for _, m := range members {
			lost += votes[m.Host]
		}
		if lost <= len(votes)/2 {
			for _, m := range members {
				f.host(m.Host).kill()
			}
			return id
		}
	}
	f.Fatal("the meta shard cannot do without the hosts of any shard")
	return 0
}

// recover asks for a shard to be made anew, until the governor has nothing against it.
func (f *fleet) recover(id hosts.ShardID, empty bool) {
	f.Helper()
	var against string
	f.until(time.Minute, "the shard is recovered", func() bool {
		v, err := f.leader(hosts.Meta).executor.View()
		if err != nil {
			return false
		}
		n := governor.Recover(v, id, empty)
		if against = n.Against; against != "" {
			return false
		}
		a := f.do("recover", func(at hosts.At, r *hosts.Records) hosts.Answer { return r.Recover(at, n, 10_000) })
		if a.Status != protocol.StatusSuccess {
			f.Fatalf("recover shard %d: %s", id, a.Text)
		}
		return true
	})
}

// TestAShardWithoutAMajorityIsMadeAnew of what one host of three is left with, or of nothing: by one order, while the
// other shards go on. In the end each shard has three replicas again, and the lost hosts are expelled.
func TestAShardWithoutAMajorityIsMadeAnew(t *testing.T) {
	for _, left := range []int{1, 0} {
		inBubble(t, func(t *testing.T) {
			f := newParts(t, 8, 9, maxFleet)
			f.converge()
			lost := f.lose(left)
			f.recover(lost, left == 0)
			f.until(5*time.Minute, "the shard has three voters again", func() bool {
				s := f.records().Shard(lost)
				return s.Group == 1 && s.Voters() == 3 && f.net.Group(memlog.GroupID(lost)).Leader().Leader != 0
			})
			if term := f.net.Group(memlog.GroupID(lost)).Leader().Term; term>>shard.GroupTermBits != 1 {
				t.Errorf("the group leads in term %d", term)
			}
			for _, id := range f.shards[1:] {
				if s := f.records().Shard(id); id != lost && s.Group != 0 {
					t.Errorf("shard %d is made anew too", id)
				}
			}
		})
	}
}
