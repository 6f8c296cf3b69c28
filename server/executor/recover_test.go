package executor

import (
	"strings"
	"testing"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/governor"
	"github.com/signalbox/signalbox/shard/hosts"
	"github.com/signalbox/signalbox/test/memlog"
)

// lose kills hosts until a shard has the given number of voters left, and returns the shard. The meta shard does not
// need these hosts.
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

// recover requests a shard rebuild until the governor accepts.
func (f *fleet) recover(id hosts.ShardID, empty bool) {
	f.Helper()
	var against string
	f.until(time.Minute, "the shard is recovered", func() bool {
		n, err := f.leader(hosts.Meta).executor.Recovery(f.Context(), id, empty)
		if err != nil {
			return false
		}
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

// TestAShardWithoutAMajorityIsMadeAnew: one request rebuilds a shard from the state of one host out of three, or from
// nothing, while other shards continue. Finally each shard has three replicas again, and the lost hosts are expelled.
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
			// Timeouts up to this one are not recorded.
			if f.longest != shard.UnnotedTimeout {
				t.Errorf("the shard waits for a timeout of %d ms", f.longest)
			}
			for _, id := range f.shards[1:] {
				if s := f.records().Shard(id); id != lost && s.Group != 0 {
					t.Errorf("shard %d is made anew too", id)
				}
			}
		})
	}
}

// TestARecoveryAsksTheHostsOnceMore: the governor's knowledge of hosts is outdated at the request. A host that has just
// returned is not expelled, and a host that has just died gets no shard.
func TestARecoveryAsksTheHostsOnceMore(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f := newParts(t, 8, 9, maxFleet)
		f.converge()
		lost := f.lose(1)
		byView := func() (against string) {
			v, err := f.leader(hosts.Meta).executor.View()
			if err != nil {
				return err.Error()
			}
			return governor.Recover(v, lost, false).Against
		}
		ask := func() hosts.Recovery {
			n, err := f.leader(hosts.Meta).executor.Recovery(f.Context(), lost, false)
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
		settle := func() hosts.Recovery {
			f.until(time.Minute, "nothing is against the recovery", func() bool { return byView() == "" })
			return ask()
		}
		n := settle()
		if n.Against != "" || len(n.Lost) != 2 {
			t.Fatalf("against the recovery: %q; lost are %v", n.Against, n.Lost)
		}
		back := f.host(n.Lost[0])
		back.start()
		if old := byView(); old != "" {
			t.Errorf("the governor has heard of it already: %s", old)
		}
		if n := ask(); n.Against == "" {
			t.Errorf("host %d has returned, and is to be expelled", back.id)
		}
		back.kill()
		n = settle()
		f.host(n.Host).kill()
		if old := byView(); old != "" {
			t.Errorf("the governor has heard of it already: %s", old)
		}
		if again := ask(); !strings.Contains(again.Against, "does not answer") {
			t.Errorf("host %d has died, and against giving it the shard is %q", n.Host, again.Against)
		}
	})
}
