package watch

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox/signalbox/shard"
)

// TestRevisionsThatDoNotGrowAreRefused plants a batch with a repeated or earlier revision.
func TestRevisionsThatDoNotGrowAreRefused(t *testing.T) {
	for name, step := range map[string]shard.Revision{"the same again": 0, "an earlier one": ^shard.Revision(0)} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t, 1, 1, Options{})
				b.create("sem", 5, "data")
				c := newClient(t, b.hub)
				c.watch("sem", wantsData)
				synctest.Wait()
				change := shard.Effect{Kind: shard.EffectChanged, Node: 1, Name: "sem", Revision: 1000,
					Flags: shard.FlagData}
				if err := b.hub.Apply([]shard.Effect{change}, time.Now()); err != nil {
					t.Fatal(err)
				}
				change.Revision += step
				if err := b.hub.Apply([]shard.Effect{change}, time.Now()); !errors.Is(err, errRevisions) {
					t.Fatalf("the error is %v", err)
				}
			})
		})
	}
}

// circling is a machine whose changes lead back to their start.
type circling struct {
	Machine
	planted bool
}

func (c *circling) Changes(r shard.Ref, since shard.Revision, d *shard.Delta) shard.DeltaKind {
	kind := c.Machine.Changes(r, since, d)
	if c.planted && kind == shard.DeltaChanges {
		d.To = since
	}
	return kind
}

// TestADeltaThatLeadsNowhereHaltsTheHost plants changes that lead a view to its current revision.
func TestADeltaThatLeadsNowhereHaltsTheHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var halted error
		b := newBed(t, 1, 1, Options{})
		m := &circling{Machine: b.machine}
		b.hub = New(m, Options{Halt: func(err error) { halted = err }})
		b.replicas[0].hub = b.hub
		b.create("sem", 5, "data")
		c := newClient(t, b.hub)
		v := c.watch("sem", wantsData)
		synctest.Wait()
		before := c.look(v).revision
		m.planted = true
		b.update("sem", "other")
		synctest.Wait()
		if !errors.Is(halted, errRevisions) || c.look(v).revision != before {
			t.Fatalf("the error is %v, the view of revision %d, and was of %d", halted, c.look(v).revision, before)
		}
	})
}
