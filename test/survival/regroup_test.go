//go:build linux

package survival_test

import (
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	sdk "github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/admin"
	"github.com/signalbox/signalbox/protocol"
	kind "github.com/signalbox/signalbox/protocol/host"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/meta"
)

// losing is a cluster of seven hosts that permanently loses two hosts, and shards with them.
type losing struct {
	*spread
	lost []uint64 // shards that have lost their majority
	node uint64
}

// shardOf returns a slot's data shard, given the number of shards since the bootstrap.
func shardOf(shards int, slot shard.Slot) uint64 {
	var ids []meta.ShardID
	for i := range shards {
		ids = append(ids, meta.ShardID(i+1))
	}
	for _, r := range meta.InitialRanges(ids) {
		if r.First <= slot && slot <= r.Last {
			return uint64(r.Shard)
		}
	}
	return 0
}

// lockOf returns the name of a lock in a matching shard.
func (l *losing) lockOf(shards int, fits func(id uint64) bool) string {
	for n := 0; ; n++ {
		name := fmt.Sprint("lock-of-shard-", n)
		if fits(shardOf(shards, shard.SlotOf(shard.NodeID(l.node), []byte(name)))) {
			return name
		}
	}
}

// moveLocks moves a slot from a lost shard to another shard, and a slot from there to a lost shard. In each slot the
// session has a lock, and keeps it.
func (l *losing) moveLocks(shards int, in func(id uint64) bool, owner *sdk.Session) (left, arrived *sdk.Lease) {
	l.t.Helper()
	second := func(fits func(id uint64) bool) string { // the first name is that of a lock
		n := 0
		return l.lockOf(shards, func(id uint64) bool {
			if fits(id) {
				n++
			}
			return n == 2
		})
	}
	not := func(id uint64) bool { return !in(id) }
	kept := uint64(1)
	for in(kept) {
		kept++
	}
	move := func(name string, to uint64) *sdk.Lease {
		err := l.counter.box.Node("/lost").Create(l.t.Context(), name, 1, []byte("before"))
		var lease *sdk.Lease
		if err == nil {
			lease, err = owner.Semaphore(name).Acquire(l.t.Context())
		}
		slot := uint64(shard.SlotOf(shard.NodeID(l.node), []byte(name)))
		if err == nil {
			_, err = l.operator.MoveSlot(l.t.Context(), slot, to, false, admin.ChangeInfo{Reason: "test"})
		}
		if err != nil {
			l.t.Fatal(err)
		}
		l.hosts[0].await("the slot moves", func() bool {
			s, err := l.operator.Slots(l.t.Context(), to)
			if err != nil {
				return false
			}
			s.Only(slot)
			return len(s.Ranges) == 1
		})
		return lease
	}
	return move(second(in), kept), move(second(not), l.lost[0])
}

// sessionIn starts a session with a home in a matching shard.
func (l *losing) sessionIn(shards int, fits func(id uint64) bool) *sdk.Session {
	l.t.Helper()
	for {
		s, err := l.counter.box.Session(l.t.Context(), "/lost", sdk.SessionTimeout(sessions))
		if err != nil {
			l.t.Fatal(err)
		}
		if fits(shardOf(shards, shard.SessionID(s.ID()).Slot())) {
			return s
		}
		_ = s.Close(l.t.Context())
	}
}

// pair returns the places of two hosts that vote together in a shard and are dispensable for the meta shard.
func (l *losing) pair() (at [2]int) {
	l.t.Helper()
	c, err := l.operator.Describe(l.t.Context())
	if err != nil {
		l.t.Fatal(err)
	}
	var pair [2]uint64
	meta := c.Shards[0].Leader
	for _, s := range c.Shards[1:] {
		var hosts []uint64
		for _, r := range s.Replicas {
			if r.Role == kind.Voter && r.Host != meta && r.Host != 1 {
				hosts = append(hosts, r.Host)
			}
		}
		if len(hosts) >= 2 {
			pair = [2]uint64{hosts[0], hosts[1]}
		}
	}
	for _, s := range c.Shards[1:] {
		n := 0
		for _, r := range s.Replicas {
			if r.Role == kind.Voter && slices.Contains(pair[:], r.Host) {
				n++
			}
		}
		if n == 2 {
			l.lost = append(l.lost, s.ID)
		}
	}
	if pair[0] == 0 || len(l.lost) == 0 {
		l.t.Fatal("no two hosts have a majority of a shard")
	}
	for i, id := range pair {
		at[i] = slices.IndexFunc(l.places, func(p *place) bool { return p.Name == c.Host(id).Name })
	}
	return at
}

// waits returns the governor's reasons as one text.
func (l *losing) waits() string {
	list, _ := l.operator.Why(l.t.Context())
	return fmt.Sprintf("%+v", list)
}

// atRest reports whether the governor is done, so that the two hosts keep their replicas until they die.
func (l *losing) atRest(shards int) bool {
	w, err := l.operator.Why(l.t.Context())
	return err == nil && w.AtRest && l.even(shards, 1)
}

// TestAShardThatHasLostItsMajorityIsMadeAnew: one command rebuilds the shard, while locks in other shards are
// unaffected. Slots that had moved out of the shard, or into it, keep their data. No acknowledged change is lost,
// because the second host dies some time after the first. An owner learns of its lost holdings, also in a slot that had
// moved into the shard with a fencing token of another shard, and keeps a lock whose slot had moved out. The next
// fencing tokens are above all old ones. A lost host that returns is refused.
func TestAShardThatHasLostItsMajorityIsMadeAnew(t *testing.T) {
	t.Parallel()
	const shards = 8
	l := &losing{spread: newSpread(t, t.TempDir(), []string{"a", "b", "c", "d", "e", "f", "g"}, func(p *admin.Policy) {
		p.OfflineAfter, p.ReplaceAfter = 2*time.Second, time.Hour
	}, "--shards", fmt.Sprint(shards))}
	newNode(t, l.hosts, "/lost", protocol.NodeConfig{SelfCheckPeriodMillis: 500, SessionGracePeriodMillis: 3000})
	n, err := l.counter.box.DescribeNode(t.Context(), "/lost")
	if err != nil {
		t.Fatal(err)
	}
	l.node = n.ID
	l.hosts[0].await("each shard has three replicas, and no host more than its part", func() bool {
		return l.atRest(shards)
	})
	pair := l.pair()
	t.Logf("hosts %s and %s have a majority of shards %v", l.places[pair[0]].Name, l.places[pair[1]].Name, l.lost)
	in := func(id uint64) bool { return slices.Contains(l.lost, id) }
	lost, kept := l.lockOf(shards, in), l.lockOf(shards, func(id uint64) bool { return !in(id) })
	owner := l.sessionIn(shards, func(id uint64) bool { return !in(id) })
	lease, err := owner.Ephemeral(lost).Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	left, arrived := l.moveLocks(shards, in, owner)
	load := newLoadAt(t, l.addresses(), "/lost", sessions, 12, 2)
	load.progress(20)
	load.anew.Store(true)

	l.hosts[pair[0]].Kill()
	load.progress(60)
	l.hosts[pair[1]].Kill()
	locks := func(name string, patience time.Duration) (fence uint64, err error) {
		s, err := l.counter.box.Session(t.Context(), "/lost", sdk.SessionTimeout(sessions))
		if err != nil {
			return 0, err
		}
		defer s.Close(t.Context())
		acquire := s.Ephemeral(name).Acquire
		if name == arrived.Name() {
			acquire = s.Semaphore(name).Acquire
		}
		next, err := acquire(t.Context(), sdk.Wait(patience))
		if err != nil {
			return 0, err
		}
		return next.Fence(), next.Release(t.Context())
	}
	l.hosts[0].await("the governor says what was lost and what to do", func() bool {
		return strings.Contains(l.waits(), fmt.Sprintf("signalbox shard recover %d", l.lost[0]))
	})
	if _, err := l.operator.RecoverShard(t.Context(), l.lost[0], true, admin.ChangeInfo{}); err == nil ||
		!strings.Contains(err.Error(), "omit --accept-data-loss") {
		t.Errorf("a shard with a survivor is made empty: %v", err)
	}
	began := time.Now()
	for _, id := range l.lost {
		newOperator(t, l.places).ok("shard", "recover", fmt.Sprint(id), "--yes", "--reason", "they burnt")
	}
	if _, err := locks(kept, 5*time.Second); err != nil {
		t.Errorf("a lock of another shard, meanwhile: %v", err)
	}
	again := func(before *sdk.Lease) {
		fence, err := uint64(0), error(nil)
		l.hosts[0].must(l.hosts[0].Await("a lock of the shard is had again", 2*patience, func() bool {
			fence, err = locks(before.Name(), 5*time.Second)
			return err == nil
		}))
		if fence <= before.Fence() {
			t.Errorf("%s: fence %d comes after %d", before.Name(), fence, before.Fence())
		}
		if before.Err() == nil {
			t.Errorf("%s: the owner of before still believes that it owns", before.Name())
		}
	}
	again(lease)
	took := time.Since(began)
	t.Logf("the shard grants again after %v", took.Round(time.Millisecond))
	if took < leastWait {
		t.Errorf("the shard grants after %v, and waits for %v at the least", took, leastWait)
	}
	again(arrived)
	if err := left.Err(); err != nil {
		t.Errorf("%s: the slot had moved to another shard, and the owner has lost the lock: %v", left.Name(), err)
	}
	for _, lock := range []*sdk.Lease{left, arrived} {
		d, err := l.counter.box.Node("/lost").Describe(t.Context(), lock.Name())
		if err == nil {
			err = l.counter.box.Node("/lost").Update(t.Context(), lock.Name(), []byte("after"))
		}
		if err != nil || string(d.Data) != "before" {
			t.Errorf("%s, whose slot had moved, has the data %q: %v", lock.Name(), d.Data, err)
		}
	}
	load.progress(60)
	l.hosts[0].await("each shard has three replicas again", func() bool {
		_, _, whole := l.counts()
		return whole
	})
	load.check()
	back := l.places[pair[0]].serve(t)
	back.awaitRefused("was expelled")
}

// leastWait is the minimum wait of a rebuilt shard: an expulsion, and an unrecorded timeout.
const leastWait = (meta.MaxSessionGracePeriodMillis*65/64 + shard.UnnotedTimeout) * time.Millisecond

// TestStoppedHostsThatWakeAfterTheOrderDoNotGoOn: two hosts with the majority of a shard are stopped with SIGSTOP, the
// shard is rebuilt, and the hosts are woken at once. Other hosts refuse both before the expulsion is final. The
// earlier owner knows of the loss when the new group grants.
func TestStoppedHostsThatWakeAfterTheOrderDoNotGoOn(t *testing.T) {
	t.Parallel()
	const shards = 8
	l := &losing{spread: newSpread(t, t.TempDir(), []string{"a", "b", "c", "d", "e", "f", "g"}, func(p *admin.Policy) {
		p.OfflineAfter, p.ReplaceAfter = 2*time.Second, time.Hour
	}, "--shards", fmt.Sprint(shards))}
	newNode(t, l.hosts, "/lost", protocol.NodeConfig{SelfCheckPeriodMillis: 500, SessionGracePeriodMillis: 3000})
	n, err := l.counter.box.DescribeNode(t.Context(), "/lost")
	if err != nil {
		t.Fatal(err)
	}
	l.node = n.ID
	l.hosts[0].await("each shard has three replicas, and no host more than its part", func() bool {
		return l.atRest(shards)
	})
	pair := l.pair()
	lock := l.lockOf(shards, func(id uint64) bool { return slices.Contains(l.lost, id) })
	owner, err := l.counter.box.Session(t.Context(), "/lost", sdk.SessionTimeout(20*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	lease, err := owner.Ephemeral(lock).Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	lost := []*host{l.hosts[pair[0]], l.hosts[pair[1]]}
	for _, h := range lost {
		h.signal(syscall.SIGSTOP)
	}
	for _, id := range l.lost {
		l.hosts[0].await("the shard is made anew", func() bool {
			_, err := l.operator.RecoverShard(t.Context(), id, false, admin.ChangeInfo{Reason: "they stand still"})
			return err == nil
		})
	}
	ordered := time.Now()
	for _, h := range lost {
		h.signal(syscall.SIGCONT)
	}
	for _, h := range lost {
		h.awaitRefused("was expelled")
	}
	if took := time.Since(ordered); took > leastWait-shard.UnnotedTimeout*time.Millisecond {
		t.Errorf("the hosts were refused after %v, when their expulsion was final", took)
	} else {
		t.Logf("the hosts were refused after %v", took.Round(time.Millisecond))
	}
	l.hosts[0].must(l.hosts[0].Await("the lock is had again", 2*patience, func() bool {
		s, err := l.counter.box.Session(t.Context(), "/lost", sdk.SessionTimeout(sessions))
		if err != nil {
			return false
		}
		defer s.Close(t.Context())
		next, err := s.Ephemeral(lock).Acquire(t.Context(), sdk.Wait(time.Second))
		if err == nil && lease.Err() == nil {
			t.Errorf("fence %d is granted, and the owner of fence %d believes", next.Fence(), lease.Fence())
		}
		return err == nil
	}))
	if took := time.Since(ordered); took < leastWait {
		t.Errorf("the shard grants after %v, and waits for %v at the least", took, leastWait)
	}
}
