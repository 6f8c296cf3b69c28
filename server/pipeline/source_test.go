package pipeline

import (
	"sync"
	"testing"

	"github.com/signalbox/signalbox/shard"
)

// TestASourceServesShardsThatAppearLater: pipelines with any shard id, also while others use the source.
func TestASourceServesShardsThatAppearLater(t *testing.T) {
	source := NewSource("token", nil)
	ids := []uint64{1, 2, 9, 64, 700, shard.MaxShard}
	pipelines := make([]*Pipeline, len(ids))
	var users sync.WaitGroup
	for i, id := range ids {
		p := New(Options{Shard: id})
		pipelines[i] = p
		users.Go(func() {
			for range 100 {
				p.mu.Lock()
				p.flowOf(&Op{Source: source})
				p.mu.Unlock()
			}
		})
	}
	users.Wait()
	seen := make(map[*flow]bool)
	for i, p := range pipelines {
		f := source.flow(ids[i])
		if f == nil || f != p.flowOf(&Op{Source: source}) || seen[f] || f.token() != p.flows.root.below["token"] {
			t.Errorf("shard %d has the flow %p", ids[i], f)
		}
		seen[f] = true
		p.Remove(source)
		if p.flowOf(&Op{Source: source}) != p.flows.host || len(p.flows.root.below) != 0 {
			t.Errorf("shard %d keeps the flow of a source that has closed", ids[i])
		}
	}
}
