//go:build linux

package chaos

import (
	"context"
	"path/filepath"
	"time"
)

const (
	// snapshots is where a host has them, below its data directory, as a pattern.
	snapshots = "raft/*/*/snapshot-part-*/*"
	// lookForSaving is how often the hunter looks for one that is not complete.
	lookForSaving = 10 * time.Millisecond
)

// hunt kills whoever saves or receives a snapshot, a moment after it has begun. One that is killed is left alone
// for a while when it is back, so that there are snapshots in the end.
func (s *stage) hunt(ctx context.Context) {
	dice := s.act.dice(3)
	for sleep(ctx, lookForSaving) {
		for h, p := range s.cluster.places {
			if !saving(p.Dir) || !sleep(ctx, upTo(dice, 2*lookForSaving)) {
				continue
			}
			f := Fault{Kind: KillSaving, At: s.journal.clock.Now(), For: upTo(dice, time.Second), Order: []int{h}}
			s.suffer(ctx, f, func() func() { return s.crash(h) })
			sleep(ctx, upTo(dice, 10*time.Second))
		}
	}
}

// saving tells whether there is a snapshot below the directory that is not complete.
func saving(dir string) bool {
	for _, suffix := range []string{"generating", "receiving"} {
		found, _ := filepath.Glob(filepath.Join(dir, snapshots, "*."+suffix))
		if len(found) > 0 {
			return true
		}
	}
	return false
}
