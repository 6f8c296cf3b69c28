package twin

import (
	"time"

	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/machine"
)

// Shrink removes commands from a failing list of batches while it still fails, until the time limit. The function
// returns the batch at which a list fails, or a negative number. The list returned by Shrink fails at its last batch.
func Shrink(
	o machine.Options, batches []*shard.Batch, within time.Duration, failsAt func([]*shard.Batch) int,
) []*shard.Batch {
	deadline := time.Now().Add(within)
	try := func(candidate []*shard.Batch) bool {
		at := failsAt(candidate)
		if at >= 0 {
			batches = candidate[:at+1]
		}
		return at >= 0
	}
	var single []*shard.Batch
	for _, b := range batches {
		for _, c := range b.Commands {
			single = append(single, &shard.Batch{Stamp: b.Stamp, Commands: []shard.Command{c}})
		}
	}
	try(single)
	for size := len(batches) / 2; time.Now().Before(deadline); {
		before := len(batches)
		// From the end: commands not needed later are removed before commands that are.
		for end := len(batches); end > 0 && time.Now().Before(deadline); {
			start := max(0, end-size)
			rest := make([]*shard.Batch, 0, len(batches))
			rest = append(append(rest, batches[:start]...), batches[end:]...)
			try(rest)
			end = min(start, len(batches))
		}
		if size > 1 {
			size /= 2
			continue
		}
		for i := len(batches) - 1; i >= 0 && time.Now().Before(deadline); i-- {
			if i < len(batches) {
				try(withoutSession(&o, batches, i))
			}
		}
		if len(batches) == before {
			break
		}
	}
	return batches
}

// withoutSession removes batch i if it creates a session, and renumbers later sessions accordingly. Otherwise a failure
// would need all sessions before the relevant ones.
func withoutSession(o *machine.Options, batches []*shard.Batch, i int) []*shard.Batch {
	t := New(*o)
	var out shard.Effects
	for _, b := range batches[:i+1] {
		out.Reset()
		t.Apply(b, &out)
	}
	removed := out.List[len(out.List)-1].Session
	if len(batches[i].Commands) != 1 || removed == 0 {
		return batches
	}
	renumber := func(id shard.SessionID) shard.SessionID {
		if o.Slots.Has(id.Slot()) && id.Counter() > removed.Counter() {
			return id - 1
		}
		return id
	}
	rest := append([]*shard.Batch(nil), batches[:i]...)
	for _, b := range batches[i+1:] {
		renumbered := &shard.Batch{Stamp: b.Stamp, Commands: append([]shard.Command(nil), b.Commands...)}
		for j := range renumbered.Commands {
			c := &renumbered.Commands[j]
			c.Session = renumber(c.Session)
			c.Sessions = append([]shard.SessionID(nil), c.Sessions...)
			for k := range c.Sessions {
				c.Sessions[k] = renumber(c.Sessions[k])
			}
		}
		rest = append(rest, renumbered)
	}
	return rest
}
