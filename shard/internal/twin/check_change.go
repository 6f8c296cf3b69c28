package twin

import (
	"fmt"
	"slices"

	"github.com/signalbox/signalbox/shard"
)

// CheckChange tells whether the Changed effects of a batch say what became of the semaphores between
// two states: a revision grows exactly where a Changed says so, whatever watchers can see has grown a
// revision, and where it grew once, watchers can see why. (Where it grew more often something may have
// changed and changed back.)
func CheckChange(before, after *shard.State, effects []shard.Effect) error {
	last := before.LastRevision
	changed := make(map[place]shard.Effect) // the last one of each
	times := make(map[place]int)
	for _, e := range effects {
		if e.Kind != shard.EffectChanged {
			continue
		}
		if last++; e.Revision != last {
			return fmt.Errorf("changed %d/%s carries revision %d, not %d", e.Node, quote(e.Name), e.Revision, last)
		}
		changed[place{e.Node, e.Name}] = e
		times[place{e.Node, e.Name}]++
	}
	if after.LastRevision != last {
		return fmt.Errorf("last revision is %d, the last Changed carries %d", after.LastRevision, last)
	}
	was, is := byPlace(before), byPlace(after)
	for p := range was {
		if _, there := is[p]; !there {
			is[p] = nil
		}
	}
	for p, now := range is {
		then := was[p]
		e, told := changed[p]
		switch {
		case !told && revisionOf(now) != revisionOf(then):
			return fmt.Errorf("%d/%s went from revision %d to %d without Changed", p.node, quote(p.name),
				revisionOf(then), revisionOf(now))
		case told && now != nil && now.Revision != e.Revision:
			return fmt.Errorf("%d/%s has revision %d, Changed said %d", p.node, quote(p.name), now.Revision, e.Revision)
		case told && (e.Flags&shard.FlagDeleted != 0) != (now == nil):
			return fmt.Errorf("%d/%s: its last Changed is wrong about whether it is gone", p.node, quote(p.name))
		case !told && !looksEqual(then, now):
			return fmt.Errorf("%d/%s looks different without Changed", p.node, quote(p.name))
		case times[p] == 1 && looksEqual(then, now):
			return fmt.Errorf("%d/%s looks the same after Changed", p.node, quote(p.name))
		}
		delete(changed, p)
	}
	for p, e := range changed {
		// It was not there before and is not there now: made and gone within the batch.
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
			continue // nobody sees it
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

// looksEqual compares what a watcher can see: that it exists, its limit, its data, its owners.
func looksEqual(a, b *shard.SemaphoreState) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Limit == b.Limit && a.Data == b.Data && slices.Equal(ownersSeen(a), ownersSeen(b))
}

// ownersSeen returns the owners with those of their fields that watchers see.
func ownersSeen(sem *shard.SemaphoreState) []shard.LinkState {
	var owners []shard.LinkState
	for _, l := range sem.Links {
		if l.Owner {
			owners = append(owners, shard.LinkState{Session: l.Session, Order: l.Order, Count: l.Count, Data: l.Data})
		}
	}
	return owners
}
