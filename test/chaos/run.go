//go:build linux

package chaos

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/server/servertest/process"
	"github.com/signalbox/signalbox/test/history"
)

// Config is what a run is told.
type Config struct {
	Program process.Program
	// Dir is where hosts have their data, and what is left of a run that found something.
	Dir string
	// Acts draws one act after the other.
	Acts func(number int) Act
	// Again is the command that plays all of them once more.
	Again string
	// Duration is for how long acts begin; at least one is played.
	Duration time.Duration
	// Mount lets a host have a disk of its own, in memory, that can be full; that needs the right to mount one.
	Mount bool
	// Tell is told what happens, in lines.
	Tell func(format string, args ...any)
	// Heard is given the history of each act before it is judged, if it is set.
	Heard func(*history.History)
	// patience is that of an act where it is not to be settlePatience.
	patience time.Duration
	// lies are faults that break promises, to see whether that is found.
	lies map[Kind]func(*stage, Fault) (heal func())
}

// Result is what came of a run.
type Result struct {
	Summary *Summary
	// Found is where a history breaks a rule, Act the act that it is of, and History its file.
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
	residents, err := r.settleDown(ctx)
	if err != nil {
		return nil, err
	}
	for n := 1; (n == 1 || time.Since(began) < c.Duration) && ctx.Err() == nil && !r.broken(); n++ {
		if err := r.play(ctx, n, c.Acts(n), residents); err != nil {
			residents.dismiss()
			return nil, err
		}
	}
	r.judging.Wait()
	if r.broken() || ctx.Err() != nil {
		residents.dismiss()
	} else {
		still := noteStalls(r.config.Dir, residents.journal)
		residents.close(ctx)
		still()
		h := residents.journal.history("residents", residentGrace)
		r.result.Summary.add(h)
		r.judge("residents", Act{Again: c.Again}, h)
	}
	r.cluster.close(r.broken())
	sum := r.result.Summary
	sum.Took, sum.Started, sum.Errors = time.Since(began), r.cluster.lives, r.cluster.errors
	sum.addSnapshots(r.cluster)
	return &r.result, nil
}

// open starts the cluster.
func (r *run) open(ctx context.Context) error {
	cluster, doors, err := newCluster(r.config.Program, r.config.Dir, []string{"a", "b", "c"}[:hosts])
	if err != nil {
		return err
	}
	r.cluster = cluster
	cluster.snapshotEvery(r.config.Acts(1).Batches)
	if r.config.Mount {
		last := cluster.places[hosts-1]
		if cluster.disk, err = mountDisk(filepath.Join(r.config.Dir, last.Name+"-disk")); err != nil {
			r.config.Tell("no disk is ever full to the last byte: %v", err)
		} else {
			last.Dir = filepath.Join(cluster.disk.dir, "data")
		}
	}
	if r.network, err = newNetwork(cluster.places, doors, clients+1, cluster.pids); err != nil {
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
		if err == nil {
			err = pack(ctx, r.direct)
		}
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
	r.cluster.close(true) // it is closed already, or something went wrong
	r.network.close()
}

// broken tells whether an act has broken a rule.
func (r *run) broken() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.result.Found) > 0
}

// stage prepares where an act plays, or where residents live.
func (r *run) stage(a Act, node string, grace, patience time.Duration) *stage {
	return &stage{
		act: a, node: node, grace: grace, patience: patience, dir: r.config.Dir, cluster: r.cluster, network: r.network, direct: r.direct,
		journal: newJournal(newClock(machineTime())), tell: r.config.Tell, lies: r.config.lies,
	}
}

const (
	// residentTimeout is that of the sessions of residents: most faults are over before it has passed. residentGrace
	// is the grace of their node.
	residentTimeout  = 15 * time.Second
	residentGrace    = 10 * time.Second
	residentThink    = 200 * time.Millisecond
	residentPrograms = 5
)

// settleDown lets residents begin, who work through all acts.
func (r *run) settleDown(ctx context.Context) (*stage, error) {
	s := r.stage(Act{Seed: r.config.Acts(1).Seed}, "/chaos/residents", residentGrace, residentTimeout+residentGrace+settlePatience)
	s.residents = s.journal
	if err := s.open(ctx); err != nil {
		return nil, err
	}
	o := Orders{Think: residentThink}
	for range residentPrograms {
		o.Timeouts = append(o.Timeouts, residentTimeout)
	}
	return s, s.enlist(resident, o)
}

// play plays an act. It is judged while the next one plays.
func (r *run) play(ctx context.Context, n int, a Act, residents *stage) error {
	r.config.Tell("act %d: %d faults in %v, a snapshot every %d batches; again: %s", a.Number, len(a.Faults), a.Length.Round(time.Millisecond),
		a.Batches, a.Again)
	r.cluster.snapshotEvery(a.Batches)
	s := r.stage(a, fmt.Sprintf("/chaos/act-%d", n), grace, cmp.Or(r.config.patience, settlePatience))
	s.residents = residents.journal
	still := noteStalls(r.config.Dir, s.journal, residents.journal)
	rested, err := s.play(ctx)
	still()
	if err != nil {
		s.dismiss()
		return err
	}
	if ctx.Err() != nil {
		return nil // it was interrupted: there is nothing to judge
	}
	h := s.journal.history(fmt.Sprintf("act %d of seed %d; again: %s", a.Number, a.Seed, a.Again), grace)
	r.config.Tell("act %d is over: %d operations by %d sessions, %d views", a.Number, len(h.Operations), len(h.Sessions), len(h.Views))
	if r.config.Heard != nil {
		r.config.Heard(h)
	}
	r.judging.Wait()
	r.result.Summary.addAct(h, s.played, rested)
	r.judging.Go(func() { r.judge(fmt.Sprintf("act-%d", n), a, h) })
	return nil
}

// judge judges a history, and keeps one that breaks a rule.
func (r *run) judge(name string, a Act, h *history.History) {
	found, undecided := judge(h)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.result.Summary.Undecided += undecided
	if len(found) == 0 {
		return
	}
	path := filepath.Join(r.config.Dir, name+".history")
	if err := h.SaveFile(path); err != nil {
		found = append(found, history.Finding{Rule: "notes", Text: err.Error()})
	}
	r.result.Found = append(r.result.Found, found...)
	r.result.Act, r.result.History = a, path
}
