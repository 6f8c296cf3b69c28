package twin

import (
	"fmt"
	"slices"

	"github.com/signalbox/signalbox/shard"
)

// CheckChange compares the Changed effects of a batch with the semaphores before and after it: a revision grows exactly
// with each Changed effect, every change visible to watchers has a new revision, and if a revision grew once, watchers
// can see a change. (With more growth, a change may have been reverted.)
func CheckChange(before, after *shard.State, effects []shard.Effect) error {
	last := before.LastRevision
	changed := make(map[place]shard.Effect) // last effect of each
	times := make(map[place]int)
	for _, e := range effects {
		if e.Kind != shard.EffectChanged {
			continue
		}
		if last++; e.Revision != last {
			return fmt.Errorf("changed %d/%s has revision %d, not %d", e.Node, quote(e.Name), e.Revision, last)
		}
		changed[place{e.Node, e.Name}] = e
		times[place{e.Node, e.Name}]++
	}
	if after.LastRevision != last {
		return fmt.Errorf("last revision is %d, the last Changed has %d", after.LastRevision, last)
	}
	was, is := byPlace(before), byPlace(after)
	for p := range was {
		if _, there := is[p]; !there {
			is[p] = nil
		}
	}
	for p, now := range is {
		then := was[p]
		e, reported := changed[p]
		switch {
		case !reported && revisionOf(now) != revisionOf(then):
			return fmt.Errorf("%d/%s went from revision %d to %d without Changed", p.node, quote(p.name),
				revisionOf(then), revisionOf(now))
		case reported && now != nil && now.Revision != e.Revision:
			return fmt.Errorf("%d/%s has revision %d, Changed said %d", p.node, quote(p.name), now.Revision, e.Revision)
		case reported && (e.Flags&shard.FlagDeleted != 0) != (now == nil):
			return fmt.Errorf("%d/%s: its last Changed is wrong about whether it is gone", p.node, quote(p.name))
		case !reported && !looksEqual(then, now):
			return fmt.Errorf("%d/%s looks different without Changed", p.node, quote(p.name))
		case times[p] == 1 && looksEqual(then, now):
			return fmt.Errorf("%d/%s looks the same after Changed", p.node, quote(p.name))
		}
		delete(changed, p)
	}
	for p, e := range changed {
		// It exists neither before nor after: created and deleted within the batch.
		if times[p] == 1 || e.Flags&shard.FlagDeleted == 0 {
			return fmt.Errorf("changed %d/%s, which does not exist", p.node, quote(p.name))
		}
	}
	return nil
}

func byPlace(state *shard.State) map[place]*shard.SemaphoreState {
	all := make(map[place]*shard.SemaphoreState)
	for i := range state.Semaphores {
		sem := &state.Semaphores[i]
		if isDeleted(state, sem) {
			continue // invisible to watchers
		}
		all[place{sem.Node, sem.Name}] = sem
	}
	return all
}

func isDeleted(state *shard.State, sem *shard.SemaphoreState) bool {
	return slices.Contains(state.Pending, shard.PendingState{Node: sem.Node, Name: sem.Name, Deleting: true})
}

func revisionOf(sem *shard.SemaphoreState) shard.Revision {
	if sem == nil {
		return 0
	}
	return sem.Revision
}

// looksEqual compares state visible to watchers: existence, limit, data, owners.
func looksEqual(a, b *shard.SemaphoreState) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Limit == b.Limit && a.Data == b.Data && slices.Equal(ownersSeen(a), ownersSeen(b))
}

// ownersSeen returns the owners with the fields visible to watchers.
func ownersSeen(sem *shard.SemaphoreState) []shard.LinkState {
	var owners []shard.LinkState
	for _, l := range sem.Links {
		if l.Owner {
			owners = append(owners, shard.LinkState{Session: l.Session, Order: l.Order, Count: l.Count, Data: l.Data})
		}
	}
	return owners
}
