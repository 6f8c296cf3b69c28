package shard

import "fmt"

// Follower is a state machine that applies the log of a shard to a machine which no host serves.
type Follower struct {
	*Machine
	batch   Batch
	effects Effects
}

// Apply implements StateMachine.
func (f *Follower) Apply(entries []Entry) error {
	for i := range entries {
		if err := DecodeBatch(entries[i].Data, &f.batch, f.Level()); err != nil {
			return fmt.Errorf("entry %d: %w", entries[i].Index, err)
		}
		f.effects.Reset()
		f.Machine.Apply(&f.batch, &f.effects)
	}
	return nil
}

// LeadershipChanged implements StateMachine.
func (*Follower) LeadershipChanged(Leadership) {}
