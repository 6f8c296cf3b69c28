package raftlog

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/raftlog/transport"
)

func openOne(t *testing.T, change func(*Config)) *member {
	t.Helper()
	one := newCluster(t, 1, change)[0]
	one.open()
	one.machine.awaitLeader(t, anyLeader)
	return one
}

func openThree(t *testing.T, change func(*Config)) (all []*member, leader *member) {
	t.Helper()
	return openConnected(t, change, nil)
}

// openConnected opens three hosts with modified transports.
func openConnected(t *testing.T, change func(*Config), network func(*transport.Config)) (all []*member,
	leader *member) {
	t.Helper()
	all = newCluster(t, 3, change)
	for _, m := range all {
		if network != nil {
			network(&m.network)
		}
	}
	openAll(all)
	return all, leaderOf(t, all)
}

func TestBatchesAreAppliedInTheOrderOfProposing(t *testing.T) {
	all, leader := openThree(t, nil)
	const n = 500
	outcomes := make(chan shard.Outcome, n)
	var want []string
	for i := range n {
		batch := fmt.Sprint(i)
		want = append(want, batch)
		for leader.log.Propose([]byte(batch), func(o shard.Outcome) { outcomes <- o }) != nil {
			if o := <-outcomes; o != shard.OutcomeApplied { // the bound is reached
				t.Fatal(o)
			}
			outcomes <- shard.OutcomeApplied
		}
	}
	for range n {
		if o := <-outcomes; o != shard.OutcomeApplied {
			t.Fatal(o)
		}
	}
	for _, m := range all {
		m.machine.awaitBatches(t, want)
	}
}

func TestAppliedIsReportedAfterApplyHasReturned(t *testing.T) {
	one := openOne(t, nil)
	release, applying := one.machine.holdNextApply()
	outcome := make(chan shard.Outcome, 1)
	if err := one.log.Propose([]byte("held"), func(o shard.Outcome) { outcome <- o }); err != nil {
		t.Fatal(err)
	}
	<-applying
	if len(outcome) != 0 {
		t.Error("the outcome was told while Apply was under way")
	}
	close(release)
	if o := <-outcome; o != shard.OutcomeApplied {
		t.Error(o)
	}
	one.machine.awaitBatches(t, []string{"held"})
}

func TestTheProposerMayReuseItsBuffer(t *testing.T) {
	one := openOne(t, nil)
	buffer := []byte("first")
	outcomes := make(chan shard.Outcome, 2)
	done := func(o shard.Outcome) { outcomes <- o }
	if err := one.log.Propose(buffer, done); err != nil {
		t.Fatal(err)
	}
	copy(buffer, "other")
	if err := one.log.Propose(buffer[:0], done); err != nil {
		t.Fatal(err)
	}
	<-outcomes
	<-outcomes
	one.machine.awaitBatches(t, []string{"first", ""})
}

func TestProposeOnAFollowerIsDropped(t *testing.T) {
	all, leader := openThree(t, nil)
	for _, follower := range others(all, leader) {
		if o := follower.propose("from a follower"); o != shard.OutcomeDropped {
			t.Errorf("host %d: %v, want dropped", follower.config.Host, o)
		}
	}
	want := leader.mustPropose(0, 1)
	for _, m := range all {
		m.machine.awaitBatches(t, want)
	}
}

func TestProposeBeyondTheBoundsIsBusy(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"batches": func(c *Config) { c.MaxInFlight = 3 },
		"bytes":   func(c *Config) { c.MaxInFlightBytes = 30 },
	} {
		t.Run(name, func(t *testing.T) {
			one := openOne(t, change)
			release, applying := one.machine.holdNextApply()
			outcomes := make(chan shard.Outcome, 10)
			batch := []byte("ten bytes!")
			accepted := 0
			for ; accepted < 10; accepted++ {
				err := one.log.Propose(batch, func(o shard.Outcome) { outcomes <- o })
				if errors.Is(err, shard.ErrLogBusy) {
					break
				}
				if err != nil {
					t.Fatal(err)
				}
				if accepted == 0 {
					<-applying
				}
			}
			if accepted != 3 {
				t.Errorf("%d batches were taken, want 3", accepted)
			}
			close(release)
			for range accepted {
				if o := <-outcomes; o != shard.OutcomeApplied {
					t.Error(o)
				}
			}
			if o := one.propose("there is room again"); o != shard.OutcomeApplied {
				t.Error(o)
			}
		})
	}
}

func TestABatchThatIsTooLargeIsRefused(t *testing.T) {
	one := openOne(t, nil)
	err := one.log.Propose(make([]byte, MaxBatchBytes+1),
		func(shard.Outcome) { t.Error("a refused batch has an outcome") })
	if !errors.Is(err, ErrBatchTooLarge) {
		t.Errorf("got %v, want ErrBatchTooLarge", err)
	}
	if o := one.propose(strings.Repeat("x", MaxBatchBytes)); o != shard.OutcomeApplied {
		t.Errorf("the largest batch: %v", o)
	}
}

func TestABatchWithoutAMajorityEndsSoonAfterItsLeader(t *testing.T) {
	all, leader := openThree(t, func(c *Config) { c.ProposalTimeout = 2 * patience })
	want := leader.mustPropose(0, 3)
	for _, m := range others(all, leader) {
		m.close()
	}
	began := time.Now()
	if o := leader.propose("alone"); o == shard.OutcomeApplied {
		t.Error("applied without a majority")
	}
	if took := time.Since(began); took > patience {
		t.Errorf("took %v", took)
	}
	if got := leader.machine.applied(); !slices.Equal(got, want) {
		t.Errorf("applied %q, want %q", got, want)
	}
}
