package logdb

import (
	"math"

	pb "github.com/lni/dragonboat/v4/raftpb"
	"github.com/signalbox/signalbox/shard/raftlog/wal"
)

// rewrite appends the needed parts in a segment and in all earlier segments again.
func (r *replica) rewrite(segment uint64) error {
	from := uint64(0)
	for {
		at, next, err := r.rewriteSome(segment, from)
		if err != nil || at.Bytes == 0 {
			return err
		}
		if err := r.db.log.Sync(at); err != nil {
			return err
		}
		from = next
	}
}

// rewriteSome appends one record with needed content from the segment or earlier segments. It looks for entries from
// index from on; entries before next are rewritten. If nothing is left, nothing is appended.
func (r *replica) rewriteSome(segment, from uint64) (at wal.Place, next uint64, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, u := range []use{r.bootstrapAt, r.stateAt, r.snapshotAt} {
		if u.bytes > 0 && u.segment <= segment {
			at, err = r.append(r.head())
			return at, from, err
		}
	}
	c, size := change{rewritten: true}, 0
	for old := range r.entries.since(from) {
		stays := old.place.Segment > segment
		if stays && size == 0 {
			continue
		}
		if stays || size >= recordBytes || size > 0 && c.entries[len(c.entries)-1].Index+1 != old.first {
			break
		}
		all, err := r.load(old)
		if err != nil {
			return wal.Place{}, 0, err
		}
		c.entries = append(c.entries, all[old.first-all[0].Index:old.last-all[0].Index+1]...)
		size += int(old.place.Bytes)
	}
	if size == 0 {
		return wal.Place{}, math.MaxUint64, nil
	}
	next = c.entries[len(c.entries)-1].Index + 1
	at, err = r.append(c)
	return at, next, err
}

// head is a change with everything except the entries. The caller holds the lock.
func (r *replica) head() change {
	c := change{bootstrap: r.bootstrap, state: r.state}
	if !pb.IsEmptySnapshot(r.snapshot) {
		c.snapshot = pb.MustMarshal(&r.snapshot)
	}
	return c
}
