package replica

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/meta"
)

// Replicas of a shard with the same applied log must have equal states. The leader of each shard has the states
// compared every ten minutes: a command marks a place of the log, every replica takes a digest of its state there
// beside applying, and a second command brings the digest of the leader to the other replicas. A replica with another
// digest stops its host, before clients read false state from the replica.

const (
	// DigestInterval is the time between two checks of a shard.
	DigestInterval = 10 * time.Minute
	// digestPause is the pause between two steps. A step holds the machine's read lock for some microseconds.
	digestPause = time.Millisecond
)

// digests checks one shard at this host.
type digests struct {
	set   *Set
	shard uint64
	// propose sends the digest of this host, as the leader that asked for the digest, to all replicas.
	propose func(number, sum uint64)

	mu       sync.Mutex // guards the fields below
	number   uint64     // of the latest digest that was asked for
	asked    uint64     // the number that this host proposed
	sum      uint64     // of the latest digest, when taken
	taken    bool
	expected uint64 // the leader's sum, when known
	compared bool
	cancel   func() // ends the taking of a digest
	last     time.Time
}

func (d *digests) init(s *Set, id uint64, propose func(number, sum uint64)) {
	d.set, d.shard, d.propose, d.last = s, id, propose, s.Now()
}

// due reports whether a leader is to ask for the next digest, and under which number.
func (d *digests) due(now time.Time) (number uint64, due bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if now.Sub(d.last) < d.set.config.DigestInterval {
		return 0, false
	}
	d.last = now
	d.asked = rand.Uint64()>>1 | 1
	return d.asked, true
}

// take begins the digest for a command. The goroutine that applies batches calls take; then a goroutine of its own
// calls step until the digest is done.
func (d *digests) take(number uint64, step func() (done, ok bool), sum func() uint64, end func()) {
	stop := make(chan struct{})
	var once sync.Once
	d.mu.Lock()
	before := d.cancel
	d.number, d.taken, d.compared = number, false, false
	d.last = d.set.Now()
	d.cancel = func() { once.Do(func() { close(stop) }) }
	d.mu.Unlock()
	if before != nil {
		before()
	}
	d.set.digesting.Go(func() {
		defer end()
		pause := time.NewTicker(digestPause)
		defer pause.Stop()
		for {
			done, ok := step()
			if !ok {
				return // the state was replaced by a snapshot
			}
			if done {
				break
			}
			select {
			case <-stop:
				return
			case <-d.set.stop:
				return
			case <-pause.C:
			}
		}
		d.finish(number, sum())
	})
}

// finish notes a digest of this host.
func (d *digests) finish(number, sum uint64) {
	d.mu.Lock()
	if d.number != number {
		d.mu.Unlock()
		return
	}
	d.sum, d.taken = sum, true
	asked := d.asked == number
	err := d.verdict()
	d.mu.Unlock()
	switch {
	case err != nil:
		_ = d.set.Halt(err)
	case asked:
		d.propose(number, sum)
	}
}

// compare notes the leader's digest. An error says that this replica differs.
func (d *digests) compare(number, sum uint64) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.number != number {
		return nil // this replica was not there when the leader asked
	}
	d.expected, d.compared = sum, true
	return d.verdict()
}

func (d *digests) verdict() error {
	if !d.taken || !d.compared {
		return nil
	}
	if d.sum == d.expected {
		d.set.metrics.Digests.Inc()
		return nil
	}
	return fmt.Errorf("%w: shard %d has the digest %016x on this host and %016x on its leader; keep the data "+
		"directory aside "+
		"for those who look into it, and start this host on an empty one", errDiffers, d.shard, d.sum, d.expected)
}

// errDiffers is wrapped by the error about a replica whose state differs from the state on the leader.
var errDiffers = fmt.Errorf("server: the replicas of a shard differ")

// checkDigest has a leader ask for a digest of its shard when a digest is due.
func (t *leaderTasks) checkDigest(now time.Time) {
	number, due := t.r.digests.due(now)
	if !due {
		return
	}
	t.r.propose(&shard.Command{Kind: shard.CmdDigestTake, Count: number}, nil, nil)
}

// takeDigest begins a digest of the state after the batch.
func (r *Replica) takeDigest(number uint64) {
	d := r.Machine.BeginDigest()
	r.digests.take(number, d.Step, d.Sum, d.Close)
}

// checkDigest has the leader of the meta shard ask for a digest when a digest is due.
func (m *Meta) checkDigest() {
	if !m.leads() {
		return
	}
	if number, due := m.digests.due(m.set.Now()); due {
		m.request(meta.Command{Kind: meta.CmdDigestTake, Digest: number})
	}
}

// takeDigest begins a digest of the state after the batch.
func (m *Meta) takeDigest(number uint64) {
	sum := m.Machine.BeginDigest()
	m.digests.take(number, func() (bool, bool) { return true, true }, sum, func() {})
}
