//go:build linux

package chaos

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/server/history"
	"github.com/signalbox/signalbox/server/servertest/process"
)

// Config is what a run is told.
type Config struct {
	Program process.Program
	// Dir is where hosts have their data, and what is left of a run that found something.
	Dir string
	// Acts draws one act after the other.
	Acts func(number int) Act
	// Duration is for how long acts begin; at least one is played.
	Duration time.Duration
	// Tell is told what happens, in lines.
	Tell func(format string, args ...any)
}

// Result is what came of a run.
type Result struct {
	Summary *Summary
	// Found is where the act breaks a rule that was the last, and History the file of its history.
	Found   []history.Finding
	Act     Act
	History string
}

// run is a cluster that acts play on.
type run struct {
	config  Config
	cluster *cluster
	network *network
	direct  *client.Client
	result  Result
	judging sync.WaitGroup

	mu sync.Mutex // guards the result while an act is judged
}

// Run plays acts until the time is up or one breaks a rule. The error tells that acts could not be played.
func Run(ctx context.Context, c Config) (*Result, error) {
	r := &run{config: c, result: Result{Summary: newSummary()}}
	began := time.Now()
	if err := r.open(ctx); err != nil {
		return nil, err
	}
	defer r.close()
	for n := 1; (n == 1 || time.Since(began) < c.Duration) && ctx.Err() == nil && !r.broken(); n++ {
		if err := r.play(ctx, n, c.Acts(n)); err != nil {
			return nil, err
		}
	}
	r.judging.Wait()
	r.result.Summary.Took, r.result.Summary.Killed = time.Since(began), r.cluster.lives
	return &r.result, nil
}

// open starts the cluster.
func (r *run) open(ctx context.Context) error {
	cluster, doors, err := newCluster(r.config.Program, r.config.Dir, []string{"a", "b", "c"}[:hosts])
	if err != nil {
		return err
	}
	r.cluster = cluster
	if r.network, err = newNetwork(cluster.places, doors, clients, cluster.pids); err != nil {
		return err
	}
	for i := range cluster.places {
		if err = cluster.start(i); err != nil {
			break
		}
	}
	if err == nil {
		err = cluster.awaitReady(readyPatience)
	}
	if err == nil {
		ctx, cancel := context.WithTimeout(ctx, readyPatience)
		defer cancel()
		r.direct, err = client.Open(ctx, strings.Join(process.Addresses(cluster.places), ","), client.WithName("chaos-direct"))
	}
	if err != nil {
		r.close()
	}
	return err
}

func (r *run) close() {
	if r.direct != nil {
		_ = r.direct.Close()
	}
	r.cluster.close()
	r.network.close()
}

// broken tells whether an act has broken a rule.
func (r *run) broken() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.result.Found) > 0
}

// play plays an act. It is judged while the next one plays.
func (r *run) play(ctx context.Context, n int, a Act) error {
	r.config.Tell("act %d: %d faults in %v; again: %s", a.Number, len(a.Faults), a.Length.Round(time.Millisecond), a.Again())
	clock := newClock(machineTime())
	s := &stage{
		act: a, node: fmt.Sprintf("/chaos/act-%d", n), dir: r.config.Dir, cluster: r.cluster, network: r.network, direct: r.direct,
		journal: newJournal(clock), tell: r.config.Tell,
	}
	still := notice(s.journal)
	rested, err := s.play(ctx)
	still()
	if err != nil {
		return err
	}
	h := s.journal.history(fmt.Sprintf("act %d of seed %d; again: %s", a.Number, a.Seed, a.Again()))
	r.config.Tell("act %d is over: %d operations by %d sessions, %d views", a.Number, len(h.Operations), len(h.Sessions), len(h.Views))
	r.judging.Wait()
	r.result.Summary.add(h, s.played, rested)
	r.judging.Go(func() { r.judge(n, a, h) })
	return nil
}

// judge judges an act. One without a fault in it is dropped from the cluster, others are left to be looked at.
func (r *run) judge(n int, a Act, h *history.History) {
	found, undecided := judge(h)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.result.Summary.Undecided += undecided
	if len(found) == 0 {
		return
	}
	path := filepath.Join(r.config.Dir, fmt.Sprintf("act-%d.history", n))
	if err := h.SaveFile(path); err != nil {
		found = append(found, history.Finding{Rule: "notes", Text: err.Error()})
	}
	r.result.Found, r.result.Act, r.result.History = found, a, path
}

// notice takes down when this process stands still, until it is told to stop: then everybody may suffer.
func notice(j *journal) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var work sync.WaitGroup
	work.Go(func() {
		last := j.clock.Now()
		for sleep(ctx, lookEvery) {
			if now := j.clock.Now(); now-last > stillness {
				j.stood(last, now)
			}
			last = j.clock.Now()
		}
	})
	return func() {
		cancel()
		work.Wait()
	}
}
