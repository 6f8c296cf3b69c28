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

// Config describes a run.
type Config struct {
	Program process.Program
	// Dir contains the hosts' data, and the remains of a run with findings.
	Dir string
	// Acts draws the acts, by number.
	Acts func(number int) Act
	// Again is the command that repeats the run.
	Again string
	// Duration is the time during which new acts begin; at least one act runs.
	Duration time.Duration
	// Mount gives a host a separate in-memory disk that can fill up; this requires the right to mount.
	Mount bool
	// Drivers are programs around clients in any language, used in addition to the Go client.
	Drivers []Driver
	// Log receives progress lines.
	Log func(format string, args ...any)
	// OnHistory, if set, receives the history of each act before it is checked.
	OnHistory func(*history.History)
	// finalTimeout, if set, overrides the final timeout of acts.
	finalTimeout time.Duration
	// assign, if set, changes the assignments of driven clients.
	assign func(*Assignment)
	// lies are faults that break guarantees, to test detection.
	lies map[Kind]func(*trial, Fault) (end func())
}

// Result is the outcome of a run.
type Result struct {
	Summary *Summary
	// Found are the violations in a history. Act is its act, and History its file.
	Found   []history.Finding
	Act     Act
	History string
}

// run is a cluster with its acts.
type run struct {
	config  Config
	cluster *cluster
	network *network
	direct  *client.Client
	result  Result
	checks  sync.WaitGroup

	mu sync.Mutex // guards the result while a history is checked
}

// Run runs acts until the time is up or one breaks a rule. The error says why acts could not be run.
func Run(ctx context.Context, c Config) (*Result, error) {
	r := &run{config: c, result: Result{Summary: newSummary()}}
	began := time.Now()
	if err := r.open(ctx); err != nil {
		return nil, err
	}
	defer r.close()
	residents, err := r.startResidents(ctx)
	if err != nil {
		return nil, err
	}
	for n := 1; (n == 1 || time.Since(began) < c.Duration) && ctx.Err() == nil && !r.hasFindings(); n++ {
		if err := r.runAct(ctx, n, c.Acts(n), residents); err != nil {
			residents.abandon()
			return nil, err
		}
	}
	r.checks.Wait()
	if r.hasFindings() || ctx.Err() != nil {
		residents.abandon()
	} else {
		stop := recordStalls(r.config.Dir, residents.recordSince())
		residents.close(ctx)
		stop()
		h := residents.record.History()
		r.result.Summary.add(h)
		r.check("residents", Act{Again: c.Again}, h)
	}
	r.cluster.close(r.hasFindings())
	sum := r.result.Summary
	sum.Took, sum.Started, sum.Errors = time.Since(began), r.cluster.starts, r.cluster.errors
	sum.addSnapshots(r.cluster)
	return &r.result, nil
}

// open starts the cluster.
func (r *run) open(ctx context.Context) error {
	names := strings.Split("abcdefghijklmnopqrstuvwxyz"[:room], "")
	cluster, listeners, err := newCluster(r.config.Program, r.config.Dir, names, hosts)
	if err != nil {
		return err
	}
	r.cluster = cluster
	cluster.snapshotEvery(r.config.Acts(1).Batches)
	if r.config.Mount {
		last := cluster.places[hosts-1]
		if cluster.disk, err = mountDisk(filepath.Join(r.config.Dir, last.Name+"-disk")); err != nil {
			r.config.Log("no disk is ever full to the last byte: %v", err)
		} else {
			last.Dir = filepath.Join(cluster.disk.dir, "data")
		}
	}
	all := clients + 1 + len(r.config.Drivers)
	if r.network, err = newNetwork(cluster.places, listeners, all, cluster.pids); err != nil {
		return err
	}
	for _, i := range cluster.members() {
		if err = cluster.start(i); err != nil {
			break
		}
	}
	if err == nil {
		err = cluster.awaitReady(readyTimeout)
	}
	if err == nil {
		ctx, cancel := context.WithTimeout(ctx, readyTimeout)
		defer cancel()
		addresses := strings.Join(process.Addresses(cluster.places), ",")
		r.direct, err = client.Open(ctx, addresses, client.WithName("chaos-direct"))
		if err == nil {
			err = writeStaticData(ctx, r.direct)
		}
		if err == nil {
			err = setPolicy(ctx, r.direct)
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
	r.cluster.close(true) // already closed, or failed
	r.network.close()
}

// hasFindings reports whether a history has broken a rule.
func (r *run) hasFindings() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.result.Found) > 0
}

// trial prepares the trial of an act, or of the residents.
func (r *run) trial(a Act, title, node string, grace, timeout time.Duration) *trial {
	epoch := machineTime()
	t := &trial{
		act: a, node: node, grace: grace, finalTimeout: timeout, dir: r.config.Dir, cluster: r.cluster,
		network: r.network,
		direct:  r.direct, epoch: epoch, log: r.config.Log, lies: r.config.lies,
		drivers: r.config.Drivers, assign: r.config.assign,
		record: history.NewRecorder(title, history.NewClock(since(epoch))),
	}
	t.record.Grace(grace)
	return t
}

// recordSince is the record of the trial and its clock's epoch.
func (t *trial) recordSince() recordSince { return recordSince{t.record, t.epoch} }

const (
	// residentTimeout is the residents' session timeout, longer than most faults. residentGrace is the grace period of
	// their node.
	residentTimeout  = 15 * time.Second
	residentGrace    = 10 * time.Second
	residentThink    = 200 * time.Millisecond
	residentPrograms = 5
)

// startResidents starts the client that works through all acts.
func (r *run) startResidents(ctx context.Context) (*trial, error) {
	t := r.trial(Act{Seed: r.config.Acts(1).Seed}, "residents", "/chaos/residents", residentGrace,
		residentTimeout+residentGrace+finalTimeout)
	t.residents = t.record
	if err := t.open(ctx); err != nil {
		return nil, err
	}
	a := Assignment{Think: residentThink}
	for range residentPrograms {
		a.Timeouts = append(a.Timeouts, residentTimeout)
	}
	return t, t.addClient(resident, a)
}

// runAct runs an act. Its history is checked while the next act runs.
func (r *run) runAct(ctx context.Context, n int, a Act, residents *trial) error {
	r.config.Log("act %d: %d faults in %v, a snapshot every %d batches; again: %s",
		a.Number, len(a.Faults), a.Length.Round(time.Millisecond), a.Batches, a.Again)
	r.cluster.snapshotEvery(a.Batches)
	title := fmt.Sprintf("act %d of seed %d; again: %s", a.Number, a.Seed, a.Again)
	t := r.trial(a, title, fmt.Sprintf("/chaos/act-%d", n), grace, cmp.Or(r.config.finalTimeout, finalTimeout))
	t.residents = residents.record
	stop := recordStalls(r.config.Dir, t.recordSince(), residents.recordSince())
	stopped, err := t.run(ctx)
	stop()
	if err != nil {
		t.abandon()
		return err
	}
	if ctx.Err() != nil {
		return nil // interrupted: nothing to check
	}
	h := t.record.History()
	r.config.Log("act %d is over: %d operations by %d sessions, %d views",
		a.Number, len(h.Operations), len(h.Sessions), len(h.Views))
	if r.config.OnHistory != nil {
		r.config.OnHistory(h)
	}
	r.checks.Wait()
	r.result.Summary.addAct(h, t.faults, stopped)
	r.checks.Go(func() { r.check(fmt.Sprintf("act-%d", n), a, h) })
	return nil
}

// check checks a history, and saves it if a rule is broken.
func (r *run) check(name string, a Act, h *history.History) {
	found, undecided := check(h)
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
