package replica

import (
	"sync"
	"time"

	"github.com/signalbox/signalbox/protocol"
)

// freshness is how far reads may trust a replica. A successful read barrier proves that the replica has everything
// committed before the barrier began. The proof is valid for a window no longer than any grace period. The lease
// table uses the same barriers to decide whether the host may act as the leader.
type freshness struct {
	r *Replica

	mu          sync.Mutex // guards the fields below
	begun       time.Time  // when the latest successful barrier began
	latest      time.Time  // when the latest completed barrier began
	filled      bool       // that barrier succeeded
	busy        bool       // a self-check is in progress
	next        time.Time  // when the next self-check is due
	used        time.Time  // when a read last relied on the replica
	incarnation uint64     // number of replicas that have left
}

func newFreshness(r *Replica) *freshness { return &freshness{r: r} }

// upToDate reports whether the replica may answer reads without a barrier.
func (f *freshness) upToDate(now time.Time) bool {
	window, period := f.r.set.timing.window()
	f.mu.Lock()
	defer f.mu.Unlock()
	if now.Sub(f.used) >= reliedPeriods*period {
		f.r.set.Stir()
	}
	f.used = now
	return !f.begun.IsZero() && now.Sub(f.begun) < window
}

// reliedPeriods is the number of periods after a read for which self-checks continue.
const reliedPeriods = 5

// relied reports whether a read has relied on the replica recently.
func (f *freshness) relied(now time.Time) bool {
	_, period := f.r.set.timing.window()
	f.mu.Lock()
	defer f.mu.Unlock()
	return now.Sub(f.used) < reliedPeriods*period
}

// confirm makes a read barrier. ok means that the replica is up to date as of the call; led means that the host may
// act as the leader.
func (f *freshness) confirm(done func(ok, led bool)) {
	r := f.r
	begun, asked := r.set.Now(), time.Now() // the hub uses the machine's time
	incarnation := f.present()
	round := r.Leases.Begin(begun)
	err := r.log.Barrier(func(err error) {
		f.ended(begun, incarnation, err == nil)
		if err != nil {
			done(false, false)
			return
		}
		// A revision that is not here by now never existed: the client invented it, or has it from another cluster.
		r.Hub.EndAhead(asked, protocol.Result{
			Status: protocol.StatusBadRequest, Message: "the shard has never had that revision",
		})
		_, changes := r.Machine.Owns(0)
		done(true, r.Leases.Succeeded(round, r.Machine.Term(), changes))
	})
	if err != nil {
		f.ended(begun, incarnation, false)
		done(false, false)
	}
}

// confirmed is confirm for a caller that can wait.
func (f *freshness) confirmed(limit time.Duration) bool {
	return within(limit, func(done func(bool)) { f.confirm(func(ok, _ bool) { done(ok) }) })
}

// within waits for an answer, and returns false if the answer does not arrive in time.
func within(limit time.Duration, ask func(done func(ok bool))) bool {
	answer := make(chan bool, 1)
	ask(func(ok bool) { answer <- ok })
	select {
	case ok := <-answer:
		return ok
	case <-time.After(limit):
		return false
	}
}

// ended records a barrier's outcome, unless the replica has left since.
func (f *freshness) ended(begun time.Time, incarnation uint64, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if incarnation != f.incarnation {
		return
	}
	if ok && begun.After(f.begun) {
		f.begun = begun
	}
	if !begun.Before(f.latest) {
		f.latest, f.filled = begun, ok
	}
}

// isFilled reports whether the latest barrier succeeded.
func (f *freshness) isFilled() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.filled
}

// forget is called when the replica has left: a proof about the old replica does not apply to the next.
func (f *freshness) forget() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.begun, f.latest, f.filled = time.Time{}, time.Time{}, false
	f.incarnation++
}

// present returns the replica's incarnation. A barrier's proof is valid only while the incarnation is unchanged.
func (f *freshness) present() uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.incarnation
}

// check repeats the barrier at the end of its period as long as reads rely on the replica: on a leader with sessions,
// or on a host whose clients read or watch.
func (f *freshness) check(now time.Time, needed bool) {
	_, period := f.r.set.timing.window()
	f.mu.Lock()
	relied := needed || now.Sub(f.used) < reliedPeriods*period
	if f.busy || !relied || now.Before(f.next) {
		f.mu.Unlock()
		return
	}
	f.busy = true
	f.next = now.Add(period)
	f.mu.Unlock()
	f.confirm(func(ok, _ bool) {
		f.mu.Lock()
		f.busy = false
		if !ok {
			f.next = time.Time{} // again at the next tick
		}
		f.mu.Unlock()
	})
}

// age returns the age of the last proof, or a very long time without a proof.
func (f *freshness) age(now time.Time) time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.begun.IsZero() {
		return 1<<63 - 1
	}
	return now.Sub(f.begun)
}

// Doubtful reports whether the host considers itself the leader and has not confirmed it recently, although it should
// have: only a leader with sessions confirms.
func (r *Replica) Doubtful(now time.Time) bool {
	return r.Leads() && r.Machine.Sessions() > 0 && !r.Leases.Fresh(now)
}

// MayAnswer reports whether the replica may answer a read immediately.
func (r *Replica) MayAnswer(consistency protocol.Consistency) bool {
	return consistency != protocol.ConsistencyStrict && r.fresh.upToDate(r.set.Now())
}
