package rollout

import (
	"container/heap"

	"github.com/signalbox/signalbox/protocol/field"
	kind "github.com/signalbox/signalbox/protocol/rollout"
)

// This file tracks a location's knowledge about instances without a scan over all instances: counts, and a sorted list
// of instances that may make the location abandon the target.

// take adds an instance's report to the counts (+1) or removes the report (-1), if the report is about the present
// target.
func (l *Location) take(i *Instance, n int) {
	t := l.Target()
	if t == nil || i.Generation != t.Generation {
		return
	}
	switch {
	case i.Status == kind.Failed:
		l.Counts.Failing += n
	case i.Status == kind.OK && i.Current == t.Seq && i.Role == Leader:
		l.Counts.Reached += n
	}
	switch i.signal {
	case signalCode:
		l.explicit[i.Role] += n
	case signalTries:
		if n > 0 {
			heap.Push(&l.suspects[i.Role], i)
		} else {
			heap.Remove(&l.suspects[i.Role], i.place)
		}
	}
}

// evidence is the instances' contribution to decisions about a location. Reports that leave the evidence unchanged
// advance nothing.
type evidence struct {
	satisfied, anyReached bool
	explicit, suspects    [roles]int
}

func (l *Location) evidence() evidence {
	return evidence{
		satisfied: l.satisfied(), anyReached: l.Counts.Reached > 0, explicit: l.explicit,
		suspects: [roles]int{len(l.suspects[Follower]), len(l.suspects[Leader])},
	}
}

// signals returns how many instances report an unusable target, up to one more than may fail; and the time at which
// time alone adds an instance (0 is never). Follower errors count only while no live leader has reached the target: so
// a broken newcomer cannot disturb a healthy location, and a location with only followers still recovers.
func (r *Rollout) signals(l *Location, now uint64) (count int, ripens uint64) {
	limit := int(l.Spec.MaxFailing) + 1
	for role := Leader; ; role-- {
		count += l.explicit[role]
		if count < limit {
			n, next := l.suspects[role].overdue(0, now, field.MillisOf(r.rules.Reelect.After), limit-count)
			count += n
			if next != 0 && (ripens == 0 || next < ripens) {
				ripens = next
			}
		}
		if role == Follower || l.Counts.Reached > 0 {
			break
		}
	}
	if count >= limit {
		return limit, 0
	}
	return count, ripens
}

// failing reports whether the target must be abandoned as unusable for instances.
func (r *Rollout) failing(l *Location, now uint64) bool {
	t := l.Target()
	if t == nil || t.Abandoned != 0 {
		return false
	}
	n, _ := r.signals(l, now)
	return n > int(l.Spec.MaxFailing)
}

// suspects is a heap of instances, the earliest target receiver first.
type suspects []*Instance

func (s suspects) Len() int { return len(s) }

func (s suspects) Less(a, b int) bool {
	return s[a].Received < s[b].Received || s[a].Received == s[b].Received && s[a].ID < s[b].ID
}

func (s suspects) Swap(a, b int) {
	s[a], s[b] = s[b], s[a]
	s[a].place, s[b].place = a, b
}

// Push appends an instance, for package heap.
func (s *suspects) Push(i any) {
	i.(*Instance).place = len(*s)
	*s = append(*s, i.(*Instance))
}

// Pop removes the last instance, for package heap.
func (s *suspects) Pop() any {
	last := len(*s) - 1
	i := (*s)[last]
	(*s)[last] = nil
	*s = (*s)[:last]
	return i
}

func (s *suspects) reset() {
	clear(*s)
	*s = (*s)[:0]
}

// overdue counts the instances in the subtree at index k with a target older than after, up to a limit, and returns the
// time when the next instance counts. At most twice the limit is looked at.
func (s suspects) overdue(k int, now, after uint64, limit int) (count int, next uint64) {
	if k >= len(s) || limit == 0 {
		return 0, 0
	}
	if ripe := s[k].Received + after + 1; now < ripe {
		return 0, ripe
	}
	count = 1
	for child := 2*k + 1; child <= 2*k+2; child++ {
		n, at := s.overdue(child, now, after, limit-count)
		count += n
		if at != 0 && (next == 0 || at < next) {
			next = at
		}
	}
	return count, next
}
