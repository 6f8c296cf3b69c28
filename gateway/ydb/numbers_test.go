package ydb_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"

	"github.com/signalbox/signalbox/gateway/ydb"
	"github.com/signalbox/signalbox/server/servertest"
)

// sequences are an SDK's successive attach counts. Python, JavaScript and Java always show 0; a lower count than before
// is accepted after the shard's leader changes.
var sequences = map[string][]uint64{
	"equal":  {0, 0, 0, 0, 0, 0},
	"higher": {0, 1, 2, 3, 900, 901},
	"lower":  {900, 7, 7, 7, 5, 5},
}

// TestWhatAStreamIsAnsweredIsItsOwn: the first request on each of a session's streams differs from the previous
// stream's. The answer always matches the effect, in every shard.
func TestWhatAStreamIsAnsweredIsItsOwn(t *testing.T) {
	for order, counts := range sequences {
		for _, shards := range []int{1, 4} {
			for _, gateways := range []int{1, 2} {
				t.Run(fmt.Sprintf("%s, %d shards, %d gateways", order, shards, gateways), func(t *testing.T) {
					t.Parallel()
					r := newRigOf(t, servertest.Hosts(3), servertest.Shards(shards))
					r.create()
					addresses := []string{r.address}
					if gateways == 2 {
						r.serve()
						addresses = append(addresses, r.address)
					}
					p := &reattached{rig: r, shards: shards, addresses: addresses, counts: counts}
					p.play()
				})
			}
		}
	}
}

// reattached is a session that attaches repeatedly.
type reattached struct {
	*rig
	shards    int
	addresses []string // of gateways
	counts    []uint64 // counts still to be shown
	shown     uint64   // the latest shown count
	session   uint64
	attaches  int
}

// objects is the semaphore count for each purpose: some in each shard.
const objects = 16

func named(purpose string, i int) string { return fmt.Sprintf("%s-%d", purpose, i) }

// attach begins the session's next stream.
func (r *reattached) attach() *caller {
	r.t.Helper()
	count := r.counts[0]
	if count < r.shown {
		for id := range uint64(r.shards) {
			if err := r.cluster.Elect(id+1, r.cluster.Leader(id+1)%3+1); err != nil {
				r.t.Fatal(err)
			}
		}
	}
	r.address = r.addresses[r.attaches%len(r.addresses)]
	r.attaches++
	shows := start{session: r.session, key: "key", sequence: count, timeout: 5 * time.Minute}
	c, refusal := r.tries(shows)
	for i := 0; c == nil && count < r.shown && i < 200; i++ {
		// The former leader does not know the new leader yet, and has the higher count.
		if refusal.GetFailure().GetStatus() != Ydb.StatusIds_BAD_SESSION {
			break
		}
		time.Sleep(50 * time.Millisecond)
		c, refusal = r.tries(shows)
	}
	if c == nil {
		r.t.Fatalf("not started: %v", refusal)
	}
	r.counts, r.shown, r.session = r.counts[1:], count, c.id
	return c
}

// another is a session from a second client.
func (r *reattached) another() *caller {
	r.t.Helper()
	return r.rig.session(start{timeout: 5 * time.Minute})
}

func (r *reattached) play() {
	t := r.t
	for i, other := 0, r.another(); i < objects; i++ {
		other.createSemaphore(named("kept", i), 1, "old", ok)
		other.createSemaphore(named("dropped", i), 1, "", ok)
		other.acquired(other.acquire(named("taken", i), all, 0, true), true, ok)
	}
	owner := r.another()
	for i := range objects {
		owner.acquired(owner.acquire(named("queue", i), all, 0, true), true, ok)
	}
	for i, s := 0, r.attach(); i < objects; i++ {
		s.acquired(s.acquire(named("mine", i), all, 0, true), true, ok)
	}
	for i, s := 0, r.attach(); i < objects; i++ {
		s.released(s.release(named("mine", i)), true)
	}
	for i, other := 0, r.another(); i < objects; i++ {
		other.acquired(other.acquire(named("mine", i), all, 0, true), true, ok)
	}
	for i, s := 0, r.attach(); i < objects; i++ {
		s.acquired(s.acquire(named("taken", i), all, 0, true), false, ok)
	}
	for i, s := 0, r.attach(); i < objects; i++ {
		s.updateSemaphore(named("kept", i), "new", ok)
		if d := s.described(s.describe(named("kept", i), false)).SemaphoreDescription; string(d.Data) != "new" {
			t.Fatalf("after an update %d it is %v", i, d)
		}
	}
	for i, s := 0, r.attach(); i < objects; i++ {
		s.deleteSemaphore(named("dropped", i), false, ok)
		if d := s.described(s.describe(named("dropped", i), false)); d.Status != Ydb.StatusIds_NOT_FOUND {
			t.Fatalf("after its delete %d is %v", i, d)
		}
	}
	s := r.attach()
	waits := make(map[uint64]bool)
	for i := range objects {
		id := s.acquire(named("queue", i), all, time.Hour, true)
		s.pending(id)
		waits[id] = true
	}
	if err := r.native().DestroySession(t.Context(), owner.id); err != nil {
		t.Fatal(err)
	}
	for len(waits) > 0 {
		m := s.next().GetAcquireSemaphoreResult()
		if !waits[m.GetReqId()] || !m.GetAcquired() || m.GetStatus() != ok {
			t.Fatalf("of %v is answered: %v", waits, m)
		}
		delete(waits, m.GetReqId())
	}
}

// TestNumbersLeapOverThoseOfAnEarlierStream: in a cluster without drawn bases, a stream with a repeated count begins
// among used numbers. After a few requests its numbers are above the used numbers.
func TestNumbersLeapOverThoseOfAnEarlierStream(t *testing.T) {
	const used = 100_000
	tries := 0
	for n := ydb.NewNumbers(); ; tries++ {
		number, answered := n.Next()
		if number > used {
			break
		}
		answered(true)
	}
	if tries > 20 {
		t.Errorf("%d tries for %d numbers", tries, used)
	}
	n := ydb.NewNumbers()
	_, first := n.Next()
	_, second := n.Next()
	first(true) // overtaken by the second
	if third, _ := n.Next(); third != 3 {
		t.Errorf("behind 2 comes %d, though nothing was used before", third)
	}
	second(false)
}
