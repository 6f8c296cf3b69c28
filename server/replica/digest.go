package replica

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/meta"
)

// Replicas of a shard that have applied the same log must have equal states. Every ten minutes, every shard's leader
// triggers a comparison: a command marks a log position, every replica computes a digest of its state at this
// position while it continues to apply, and a second command distributes the leader's digest. A replica with a
// different digest stops its host, before clients read wrong state from the replica.

const (
	// DigestInterval is the time between two checks of a shard.
	DigestInterval = 10 * time.Minute
	// digestPause is the pause between two steps. A step holds the machine's read lock for a few microseconds.
	digestPause = time.Millisecond
)

// digests checks one shard on the host.
type digests struct {
	set   *Set
	shard uint64
	// propose sends the host's digest to all replicas, if the host was the leader that requested the digest.
	propose func(number, sum uint64)

	mu       sync.Mutex // guards the fields below
	number   uint64     // number of the latest requested digest
	asked    uint64     // number the host proposed
	sum      uint64     // the latest digest, if computed
	taken    bool
	expected uint64 // the leader's digest, if known
	compared bool
	cancel   func() // cancels the computation
	last     time.Time
}

func (d *digests) init(s *Set, id uint64, propose func(number, sum uint64)) {
	d.set, d.shard, d.propose, d.last = s, id, propose, s.Now()
}

// due reports whether a leader should request the next digest, and its number.
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

// take starts the digest for a command. The goroutine that applies batches calls take; a separate goroutine then
// calls step until the digest is complete.
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
				return // a snapshot has replaced the state
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

// finish records the host's digest.
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

// compare records the leader's digest. An error means that the replica differs.
func (d *digests) compare(number, sum uint64) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.number != number {
		return nil // the replica did not exist when the leader requested the digest
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
	return fmt.Errorf("%w: shard %d has digest %016x on this host and %016x on its leader; keep the data "+
		"directory for the investigation, and start the host with an empty "+
		"directory", errDiffers, d.shard, d.sum, d.expected)
}

// errDiffers is wrapped by the error for a replica whose state differs from the leader's state.
var errDiffers = fmt.Errorf("server: the replicas of a shard differ")

// checkDigest makes a leader request a digest of its shard when one is due.
func (t *leaderTasks) checkDigest(now time.Time) {
	number, due := t.r.digests.due(now)
	if !due {
		return
	}
	t.r.propose(&shard.Command{Kind: shard.CmdDigestTake, Count: number}, nil, nil)
}

// takeDigest starts a digest of the state after the batch.
func (r *Replica) takeDigest(number uint64) {
	d := r.Machine.BeginDigest()
	r.digests.take(number, d.Step, d.Sum, d.Close)
}

// checkDigest makes the meta shard leader request a digest when one is due.
func (m *Meta) checkDigest() {
	if !m.leads() {
		return
	}
	if number, due := m.digests.due(m.set.Now()); due {
		m.request(meta.Command{Kind: meta.CmdDigestTake, Digest: number})
	}
}

// takeDigest starts a digest of the state after the batch.
func (m *Meta) takeDigest(number uint64) {
	sum := m.Machine.BeginDigest()
	m.digests.take(number, func() (bool, bool) { return true, true }, sum, func() {})
}
