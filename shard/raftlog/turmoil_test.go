package raftlog

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/signalbox/signalbox/shard"
)

// proposer numbers its batches and records the outcome of each.
type proposer struct {
	name string

	mu       sync.Mutex
	outcomes map[string]shard.Outcome // guarded by mu
}

// run proposes until stop is closed, up to four batches at a time.
func (p *proposer) run(log shard.Log, stop <-chan struct{}) {
	slots := make(chan struct{}, 4)
	for {
		select {
		case <-stop:
			for range cap(slots) {
				slots <- struct{}{}
			}
			return
		case slots <- struct{}{}:
		}
		p.mu.Lock()
		batch := fmt.Sprintf("%s/%08d", p.name, len(p.outcomes))
		p.outcomes[batch] = 0
		p.mu.Unlock()
		err := log.Propose([]byte(batch), func(o shard.Outcome) {
			p.mu.Lock()
			p.outcomes[batch] = o
			p.mu.Unlock()
			if o == shard.OutcomeDropped {
				time.AfterFunc(time.Millisecond, func() { <-slots }) // there is no leader here
				return
			}
			<-slots
		})
		if err != nil {
			p.mu.Lock()
			p.outcomes[batch] = shard.OutcomeDropped
			p.mu.Unlock()
			<-slots
		}
	}
}

func (p *proposer) acknowledged() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var all []string
	for batch, o := range p.outcomes {
		if o == shard.OutcomeApplied {
			all = append(all, batch)
		}
	}
	return all
}

// TestNothingIsLostOrReorderedWhileHostsComeAndGo proposes on every host while leadership moves and hosts restart, and
// then checks the resulting log.
func TestNothingIsLostOrReorderedWhileHostsComeAndGo(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	all, _ := openThree(t, fewEntries)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	var proposers []*proposer
	stops := make([]chan struct{}, len(all))
	var running sync.WaitGroup
	begin := func(i, life int) {
		p := &proposer{name: fmt.Sprintf("host%d.%d", i+1, life), outcomes: make(map[string]shard.Outcome)}
		proposers = append(proposers, p)
		log, stop := all[i].log, make(chan struct{})
		stops[i] = stop
		running.Go(func() { p.run(log, stop) })
	}
	for i := range all {
		begin(i, 0)
	}
	for life := 1; life <= 10; life++ {
		i := rng.IntN(len(all))
		switch rng.IntN(3) {
		case 0:
			all[i].log.Transfer(shard.HostID(rng.IntN(len(all)) + 1))
		default:
			close(stops[i])
			all[i].close()
			all[i].open()
			begin(i, life)
		}
		reader := all[rng.IntN(len(all))]
		more := len(reader.machine.applied()) + 50
		reader.machine.await(t, "more batches", func() bool { return len(reader.machine.batches) >= more })
		var want []string
		for _, p := range proposers {
			want = append(want, p.acknowledged()...)
		}
		if err := reader.barrier(); err != nil {
			continue // on a busy machine, an election may take longer than a barrier
		}
		got := make(map[string]bool)
		for _, batch := range reader.machine.applied() {
			got[batch] = true
		}
		for _, batch := range want {
			if !got[batch] {
				t.Fatalf("a barrier on host %d missed %q, which was acknowledged before", reader.config.Host, batch)
			}
		}
	}
	for _, stop := range stops {
		close(stop)
	}
	running.Wait()
	var leader *member
	var end string
	tries := 0
	eventually(t, "the end to be applied", func() bool { // on a busy machine the leader may change once more
		leader, end = leaderOf(t, all), fmt.Sprintf("the end/%06d", tries)
		tries++
		return leader.propose(end) == shard.OutcomeApplied
	})
	for _, m := range all {
		m.machine.await(t, "the end", func() bool { return slices.Contains(m.machine.batches, end) })
	}
	log := leader.machine.applied()
	for _, m := range all {
		if !slices.Equal(m.machine.applied(), log) {
			t.Errorf("host %d has applied something else than host %d", m.config.Host, leader.config.Host)
		}
	}
	checkLog(t, log, proposers)
}

// checkLog compares a log with the outcomes of the proposers.
func checkLog(t *testing.T, log []string, proposers []*proposer) {
	t.Helper()
	last := make(map[string]string)
	inLog := make(map[string]bool)
	for _, batch := range log {
		name, _, _ := strings.Cut(batch, "/")
		if before, ok := last[name]; ok && batch <= before {
			t.Errorf("%q was applied after %q", batch, before)
		}
		last[name] = batch
		inLog[batch] = true
	}
	counts := make(map[shard.Outcome]int)
	for _, p := range proposers {
		for batch, o := range p.outcomes {
			counts[o]++
			switch {
			case o == 0:
				t.Errorf("%q has no outcome", batch)
			case o == shard.OutcomeApplied && !inLog[batch]:
				t.Errorf("%q was called applied and is not in the log", batch)
			case o == shard.OutcomeDropped && inLog[batch]:
				t.Errorf("%q was called dropped and is in the log", batch)
			}
		}
	}
	if counts[shard.OutcomeApplied] == 0 || counts[shard.OutcomeDropped] == 0 {
		t.Errorf("outcomes %v: want some of both", counts)
	}
	t.Logf("outcomes %v", counts)
}
