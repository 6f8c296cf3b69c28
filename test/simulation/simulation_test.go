package simulation_test

import (
	"flag"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/test/engine"
	"github.com/signalbox/signalbox/test/history"
	"github.com/signalbox/signalbox/test/simulation"
)

var (
	seedFlag = flag.Uint64("seed", 0, "the seed that TestWorld plays")
	again    = flag.Int("again", 5, "how often TestWorld plays its seed")
	soak     = flag.Duration("soak", 0, "for how long TestSoak plays fresh seeds")
	days     = flag.Bool("days", false, "let TestSoak play long days only: many hours, few operations")
	members  = flag.Bool("members", false, "let hosts come and go, in TestWorld and in TestSoak")
	restored = flag.Bool("restores", false, "have the cluster restored from its backup, in TestWorld and in TestSoak")
	apart    = flag.Bool("apart", false, "have hosts go by no copy of a session's home that they do not lead")
	moves    = flag.Bool("moves", false, "like -spread, with slots that move between shards")
	spread   = flag.Bool("spread", false, "let hosts come and go, and each shard be on a part of them")
	wide     = flag.Bool("wide", false, "play worlds of 30 hosts and 64 shards")
	slow     = flag.Bool("slow", false, "let hosts be slow, in TestWorld and in TestSoak")
	losses   = flag.Bool("losses", false, "with -spread, have shards lose their majority in all worlds of TestSoak")
	onEngine = flag.Bool("engine", false, "have hosts run on the production log, in TestWorld and in TestSoak")
	count    = flag.Int("hosts", 0, "with -engine, how many hosts worlds of TestSoak begin with; 0: as the seed says")
	keep     = flag.String("keep", "",
		"the directory for histories that break a rule; a temporary one where it is not given")
	file = flag.String("history", "", "the history that TestHistory judges")
	logs = flag.Bool("logs", false, "let hosts and clients log")
)

// totals summarizes worlds.
type totals struct {
	worlds, operations, views atomic.Int64
	targets                   atomic.Int64 // shown to rollout instances
	calls                     atomic.Int64 // of process handlers
	simulated                 atomic.Int64
	recoveries                atomic.Int64 // of shards
	moved                     atomic.Int64 // slots
	undecided                 atomic.Int64

	mu     sync.Mutex
	faults map[simulation.FaultKind]int // that have begun
	hosts  int                          // maximum cluster size after a join
}

func (t *totals) joined(hosts int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.hosts = max(t.hosts, hosts)
}

func (t *totals) did(k simulation.FaultKind) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.faults == nil {
		t.faults = make(map[simulation.FaultKind]int)
	}
	t.faults[k]++
}

func (t *totals) String() string {
	const format = "%d worlds, %.2f simulated hours, %d operations, %d views, %d targets, %d calls, " +
		"%d shards made anew, %d slots moved, %d of %d semaphores' orders undecided"
	return fmt.Sprintf(format,
		t.worlds.Load(), time.Duration(t.simulated.Load()).Hours(), t.operations.Load(), t.views.Load(),
		t.targets.Load(), t.calls.Load(), t.recoveries.Load(), t.moved.Load(), t.undecided.Load(),
		t.worlds.Load()*simulation.Semaphores)
}

// run runs a plan and returns its history.
func run(t *testing.T, p simulation.Plan, bug *simulation.Bug, sum *totals) (h *history.History) {
	t.Helper()
	options := simulation.Options{Bug: bug, Did: sum.did, Joined: sum.joined,
		Moved: func(slots int) { sum.moved.Add(int64(slots)) }, Production: *onEngine}
	switch {
	case *logs:
		options.Log = slog.New(slog.NewTextHandler(os.Stderr, nil))
	case bug == nil: // a planted mistake is sought in too many worlds
		options.Log = keptLog(t, p)
	}
	engine.InBubble(t, p, func(t *testing.T) {
		began := time.Now()
		var err error
		if h, err = simulation.Run(p, options); err != nil {
			t.Fatalf("%v: %v", p, err)
		}
		sum.simulated.Add(int64(time.Since(began)))
	})
	sum.worlds.Add(1)
	sum.operations.Add(int64(len(h.Operations)))
	sum.views.Add(int64(len(h.Views)))
	sum.targets.Add(int64(len(h.Targets)))
	sum.calls.Add(int64(len(h.Calls)))
	sum.recoveries.Add(int64(len(h.Recoveries)))
	return h
}

// check checks a history, and saves it if a rule is broken.
func check(t *testing.T, p simulation.Plan, h *history.History, sum *totals) bool {
	t.Helper()
	found, undecided := history.Check(h)
	sum.undecided.Add(int64(len(undecided)))
	if len(found) == 0 {
		return true
	}
	path := filepath.Join(keepIn(t), fmt.Sprintf("seed-%d-%d.history", p.Seed, time.Now().UnixNano()))
	if err := h.SaveFile(path); err != nil {
		t.Error(err)
	}
	for i, f := range found {
		if i == 10 {
			t.Errorf("and %d more", len(found)-i)
			break
		}
		t.Error(f)
	}
	t.Errorf("%v\nhistory: %s\nagain: %s", p, path, p.Again())
	return false
}

// keptLog returns a log whose last lines are saved if the test fails.
func keptLog(t *testing.T, p simulation.Plan) *slog.Logger {
	last := &lastLines{}
	t.Cleanup(func() {
		if !t.Failed() {
			return
		}
		path := filepath.Join(keepIn(t), fmt.Sprintf("seed-%d-%d.log", p.Seed, time.Now().UnixNano()))
		if err := os.WriteFile(path, last.text(), 0o644); err != nil {
			t.Error(err)
		}
		t.Logf("what the hosts have logged last: %s", path)
	})
	return slog.New(slog.NewTextHandler(last, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// lastLines keeps the last lines written, between half and one megabyte.
type lastLines struct {
	mu          sync.Mutex
	older, last []byte
}

func (l *lastLines) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.last = append(l.last, line...); len(l.last) >= 1<<19 {
		l.older, l.last = l.last, l.older[:0]
	}
	return len(line), nil
}

func (l *lastLines) text() []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Concat(l.older, l.last)
}

// keepIn is the directory for saved histories and logs.
func keepIn(t *testing.T) string {
	if *keep != "" {
		return *keep
	}
	dir, err := kept()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

var kept = sync.OnceValues(func() (string, error) { return os.MkdirTemp("", "signalbox-simulation-") })

// drawn draws plans of the requested kind.
func drawn() func(seed uint64) simulation.Plan { return drawnAs(*members, *restored) }

func drawnAs(members, restored bool) func(seed uint64) simulation.Plan {
	draw := simulation.Draw
	switch {
	case restored:
		draw = simulation.DrawRestored
	case *slow:
		draw = simulation.DrawSlow
	case *wide:
		draw = simulation.DrawWide
	case *moves:
		draw = simulation.DrawMoves
	case *spread:
		draw = simulation.DrawSpread
	case members:
		draw = simulation.DrawBusyMembers
	}
	return func(seed uint64) simulation.Plan {
		p := draw(seed)
		p.Apart = *apart
		return p
	}
}

// TestWorld runs the seed of -seed: repeatedly in memory, or once on the production log.
func TestWorld(t *testing.T) {
	if *seedFlag == 0 {
		t.Skip("plays the seed of -seed")
	}
	p, times := drawn()(*seedFlag), *again
	if *onEngine {
		fmt.Println(p)
		times = 1
	}
	for n := range times {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			sum := &totals{}
			began := time.Now()
			h := run(t, p, nil, sum)
			played := time.Since(began)
			check(t, p, h, sum)
			fmt.Printf("%v, played in %v, judged in %v\n", sum, played, time.Since(began)-played)
		})
	}
}

// fresh runs fresh seeds with accepted plans on all cores, starting at a given seed, for some time.
func fresh(t *testing.T, first uint64, long time.Duration, draw func(uint64) simulation.Plan,
	wanted func(simulation.Plan) bool) *totals {
	sum := &totals{}
	began := time.Now()
	var next atomic.Uint64
	next.Store(first)
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for time.Since(began) < long && !t.Failed() {
				p := draw(next.Add(1) - 1)
				if !wanted(p) {
					continue
				}
				t.Run(fmt.Sprint("seed=", p.Seed), func(t *testing.T) {
					check(t, p, run(t, p, nil, sum), sum)
				})
			}
		})
	}
	workers.Wait()
	t.Logf("%v in %v", sum, time.Since(began).Round(time.Second))
	return sum
}

func anyPlan(simulation.Plan) bool { return true }

func TestWorlds(t *testing.T) {
	long := 12 * time.Second
	if testing.Short() {
		long = 5 * time.Second
	}
	fresh(t, 1, long, simulation.Draw, anyPlan)
}

// TestApartWorlds runs worlds in which a host asks other hosts about sessions of shards that it does not lead.
func TestApartWorlds(t *testing.T) {
	long := 8 * time.Second
	if testing.Short() {
		long = 4 * time.Second
	}
	fresh(t, 1, long, func(seed uint64) simulation.Plan {
		p := simulation.Draw(seed)
		apartShape(&p)
		return p
	}, func(p simulation.Plan) bool { return p.Hosts > 1 })
}

// TestSpreadWorlds runs worlds with each shard on a subset of the hosts, and membership changes.
func TestSpreadWorlds(t *testing.T) {
	if testing.Short() {
		t.Skip("worlds of members take long")
	}
	fresh(t, 1, 8*time.Second, simulation.DrawSpread, anyPlan)
}

// TestSlotsMoveInWorlds runs worlds like those, in which slots move all the time.
func TestSlotsMoveInWorlds(t *testing.T) {
	if testing.Short() {
		t.Skip("worlds of members take long")
	}
	sum := fresh(t, 1, 8*time.Second, simulation.DrawMoves, anyPlan)
	if sum.moved.Load() == 0 && sum.worlds.Load() > 0 {
		t.Error("no slot has moved")
	}
}

// apartShape creates a world with home shards led by other hosts.
func apartShape(p *simulation.Plan) { p.Apart, p.Shards, p.Upgrades = true, 2, nil }

// TestQuotasAreUsedUpInSomeWorlds runs worlds with small shard quotas. The usual rules check that a quota refusal has
// no effect, and that all replicas refuse equally.
func TestQuotasAreUsedUpInSomeWorlds(t *testing.T) {
	refused := 0
	for seed := uint64(3); seed <= 18; seed += 5 {
		p := simulation.Draw(seed)
		if p.Quotas == (shard.Limits{}) {
			t.Fatalf("%v has no quotas", p)
		}
		p.Length = min(p.Length, time.Minute)
		p.Upgrades = nil
		sum := &totals{}
		h := run(t, p, nil, sum)
		check(t, p, h, sum)
		for _, o := range h.Operations {
			if o.Outcome == history.OverQuota {
				refused++
			}
		}
	}
	if refused == 0 {
		t.Error("no quota was in the way of anything")
	}
	t.Logf("%d operations were refused by a quota", refused)
}

func TestSoak(t *testing.T) {
	if *soak == 0 {
		t.Skip("plays fresh seeds for the time of -soak")
	}
	if *onEngine {
		soakEngine(t)
		return
	}
	fresh(t, uint64(time.Now().Unix())*1000, *soak, drawn(),
		func(p simulation.Plan) bool { return (!*days || p.LongDay()) && (!*losses || p.Loses()) })
}

// soakEngine runs fresh seeds on the production log, each in a separate process. Unless a kind of worlds is requested,
// one in four has membership changes, and one in four a restore.
func soakEngine(t *testing.T) {
	s := engine.Soak{For: *soak, Parallel: runtime.GOMAXPROCS(0), World: func(seed uint64) (fmt.Stringer, []string) {
		change, back := *members, *restored
		if !change && !back && !*spread && !*moves {
			change, back = seed%4 == 1, seed%4 == 3
		}
		p := drawnAs(change, back)(seed)
		if *days && !p.LongDay() || *losses && !p.Loses() || *count > 0 && p.Hosts != *count {
			return p, nil
		}
		return p, []string{"-test.run=^TestWorld$", "-engine", fmt.Sprint("-seed=", seed),
			fmt.Sprint("-members=", change), fmt.Sprint("-restores=", back), "-keep=" + *keep,
			fmt.Sprint("-spread=", *spread), fmt.Sprint("-moves=", *moves),
			fmt.Sprint("-wide=", *wide), fmt.Sprint("-apart=", *apart)}
	}}
	s.Run(t)
}

// TestHistory judges a saved history.
func TestHistory(t *testing.T) {
	if *file == "" {
		t.Skip("judges the history of -history")
	}
	h, err := history.LoadFile(*file)
	if err != nil {
		t.Fatal(err)
	}
	found, undecided := history.Check(h)
	for _, f := range found {
		t.Error(f)
	}
	t.Logf("%s: %d findings; undecided %v", h.Title, len(found), undecided)
}
