//go:build linux

package chaos

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/signalbox/signalbox/server/servertest/process"
	"github.com/signalbox/signalbox/test/conform"
	"github.com/signalbox/signalbox/test/history"
)

var (
	duration = flag.Duration("duration", 0, "for how long TestChaos takes a cluster apart")
	seedFlag = flag.Uint64("seed", 0, "the seed that TestChaos draws acts from; one of its own where it is not given")
	actFlag  = flag.Int("act", 0, "the only act that TestChaos plays, over and over; all where it is not given")
	other    = flag.String("program", "", "a signalbox to take apart instead of one that is built from this repository")
	size     = flag.Int("hosts", 0,
		"how many hosts TestChaos begins with, each with a part of the shards; 0: three with all of them")
	drivers = flag.String("drivers", "", "clients behind drivers in TestChaos, with commas: go, python, typescript")
	moves   = flag.Bool("moves", false, "let slots move all the time in TestChaos")
	keep    = flag.String("keep", "",
		"the directory below which a run that finds something keeps its files; a temporary one where it is not given")
)

func TestMain(m *testing.M) {
	if os.Getenv(ClientVariable) != "" {
		if err := Serve(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if os.Getenv(driverVariable) != "" {
		if err := conform.Drive(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	code := m.Run()
	if built != "" {
		_ = os.RemoveAll(built)
	}
	os.Exit(code)
}

// signalbox is the program under test.
var signalbox = sync.OnceValues(func() (process.Program, error) {
	if *other != "" {
		return process.Program{Path: *other}, nil
	}
	dir, err := os.MkdirTemp("", "signalbox-chaos-program-")
	if err != nil {
		return process.Program{}, err
	}
	built = dir
	return process.BuildDelayed(dir)
})

// built is the directory of the compiled program.
var built string

// play runs acts on a new cluster. The directory is kept after findings or expected lies.
func play(t *testing.T, c Config) *Result {
	t.Helper()
	dir, err := os.MkdirTemp(*keep, "signalbox-chaos-")
	if err != nil {
		t.Fatal(err)
	}
	c.Dir, c.Log = dir, t.Logf
	if c.Program, err = signalbox(); err != nil {
		t.Fatal(err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	result, err := Run(ctx, c)
	if err != nil {
		t.Fatalf("%v\nall there is: %s", err, dir)
	}
	var text bytes.Buffer
	result.Summary.Print(&text)
	t.Logf("\n%s", text.String())
	if len(result.Found) == 0 {
		_ = os.RemoveAll(dir)
	}
	return result
}

// report fails the test for the findings of a run.
func report(t *testing.T, r *Result) {
	t.Helper()
	for i, f := range r.Found {
		if i == 10 {
			t.Errorf("and %d more", len(r.Found)-i)
			break
		}
		t.Error(f)
	}
	if len(r.Found) > 0 {
		for _, f := range r.Act.Faults {
			t.Log(f)
		}
		t.Errorf("history: %s\nlogs: %s\nagain: %s", r.History, filepath.Dir(r.History), r.Act.Again)
	}
}

func TestChaos(t *testing.T) {
	if *duration == 0 && *actFlag == 0 {
		t.Skip("takes a cluster apart for the time of -duration")
	}
	seed := *seedFlag
	if seed == 0 {
		seed = uint64(time.Now().Unix())
	}
	again := fmt.Sprintf("make chaos SEED=%d DURATION=%v", seed, *duration)
	var others []Driver
	for _, name := range strings.FieldsFunc(*drivers, func(r rune) bool { return r == ',' }) {
		others = append(others, driverOf(t, name))
	}
	if *size != 0 {
		spreadOver(*size)
		again += fmt.Sprint(" HOSTS=", *size)
	}
	if *drivers != "" {
		again += " DRIVERS=" + *drivers
	}
	if *moves {
		again += " MOVES=1"
	}
	report(t, play(t, Config{Duration: *duration, Mount: true, Again: again, Drivers: others, Acts: func(n int) Act {
		if *actFlag != 0 {
			n = *actFlag
		}
		a := Draw(seed, n).withDrivers(len(others))
		if *moves {
			a = a.withMoves()
		}
		return a
	}}))
}

// fixed is an act with given faults.
func fixed(t *testing.T, length time.Duration, faults ...Fault) func(int) Act {
	for i := range faults {
		f := &faults[i]
		if f.Order == nil {
			f.Order = []int{0, 1, 2}
		}
	}
	a := Act{Seed: 1, Length: length, Faults: faults, Again: "go test ./test/chaos -run " + t.Name()}
	return func(int) Act { return a }
}

func TestAClusterThatIsTakenApartKeepsItsPromises(t *testing.T) {
	if testing.Short() {
		t.Skip("takes half a minute")
	}
	acts := fixed(t, 26*time.Second,
		Fault{Kind: KillLeader, At: time.Second, For: time.Second},
		Fault{Kind: PauseClient, At: 2 * time.Second, For: longestLease},
		Fault{Kind: IsolateLeader, At: 5 * time.Second, For: 2 * time.Second},
		Fault{Kind: ApartOneWay, At: 5 * time.Second, For: 4 * time.Second, Client: 1, Order: []int{1, 0, 2}},
		Fault{Kind: PauseLeader, At: 9 * time.Second, For: 3 * time.Second},
		Fault{Kind: KillClient, At: 12 * time.Second, For: time.Second, Client: 1},
		Fault{Kind: HandOver, At: 14 * time.Second, For: 500 * time.Millisecond},
		Fault{Kind: SlowDisk, At: 16 * time.Second, For: leaveTime, Amount: 0.1},
	)
	// A busy machine progresses slowly, so up to four acts may do the work expected from one.
	done := map[string]int{}
	for range 4 {
		playTakenApart(t, acts, done)
		if t.Failed() || len(tooFew(done)) == 0 {
			break
		}
	}
	for what, least := range tooFew(done) {
		t.Errorf("%d %s, not %d: nothing moved", done[what], what, least)
	}
}

// tooFew returns the missing work with the required amount.
func tooFew(done map[string]int) map[string]int {
	want := map[string]int{
		"acquires that were granted": 100, "targets of rollouts shown": 100, "handlers of processes called": 100,
		"exchanges done": 10, "starts with a snapshot to load": 1,
	}
	maps.DeleteFunc(want, func(what string, least int) bool { return done[what] >= least })
	return want
}

// playTakenApart runs an act, and counts its work.
func playTakenApart(t *testing.T, acts func(int) Act, done map[string]int) {
	t.Helper()
	r := play(t, Config{Acts: func(n int) Act {
		a := acts(n)
		a.Batches = leastBatches
		return a
	}})
	report(t, r)
	// Kills during snapshots take hosts down too, so sometimes no host leads.
	var missing []string
	for kind, sum := range r.Summary.Faults {
		if sum.Skipped > 0 && kind != KillSaving {
			missing = append(missing, string(kind))
		}
	}
	if len(missing) > 3 {
		t.Errorf("%v did not happen", missing)
	}
	// Observing a snapshot during its save depends on luck; loading one at start does not.
	sum := r.Summary
	for what, n := range map[string]int{
		"acquires that were granted": sum.Operations["acquire"]["done"], "targets of rollouts shown": sum.Targets,
		"handlers of processes called": sum.Calls, "exchanges done": sum.Exchanges[history.Done],
		"starts with a snapshot to load": sum.Loads,
	} {
		done[what] += n
	}
	if !strings.Contains(r.Summary.GapIn, " ") {
		t.Errorf("the longest time without an operation was during %q", r.Summary.GapIn)
	}
}

// TestAClusterWhoseHostsComeAndGoKeepsItsPromises adds hosts, loses a directory, drains a host, and loses the
// governor's host meanwhile.
func TestAClusterWhoseHostsComeAndGoKeepsItsPromises(t *testing.T) {
	if testing.Short() {
		t.Skip("takes half a minute")
	}
	acts := fixed(t, 8*time.Second,
		Fault{Kind: KillJoiner, At: 500 * time.Millisecond, Amount: 0.6},
		Fault{Kind: KillGovernor, At: 2 * time.Second, For: time.Second},
		Fault{Kind: Drain, At: 4 * time.Second, For: time.Second, Order: []int{1}},
		Fault{Kind: Wipe, At: 6 * time.Second, Order: []int{2}},
	)
	r := play(t, Config{Acts: func(n int) Act {
		a := acts(n)
		a.Think = 200 * time.Millisecond
		return a
	}})
	report(t, r)
	for _, kind := range []Kind{KillJoiner, KillGovernor, Drain, Wipe} {
		if r.Summary.Faults[kind].Skipped > 0 {
			t.Logf("not possible: %s", kind)
		}
	}
}

// TestAClusterWhoseSlotsMoveKeepsItsPromises moves slots all the time while hosts are killed.
func TestAClusterWhoseSlotsMoveKeepsItsPromises(t *testing.T) {
	if testing.Short() {
		t.Skip("takes half a minute")
	}
	acts := fixed(t, 8*time.Second,
		Fault{Kind: KillLeader, At: 2 * time.Second, For: 300 * time.Millisecond},
		Fault{Kind: KillTwo, At: 5 * time.Second, For: 300 * time.Millisecond, Order: []int{2, 1, 0}},
	)
	r := play(t, Config{Acts: func(n int) Act {
		a := acts(n)
		a.Moves = true
		return a
	}})
	report(t, r)
	if r.Summary.Moved == 0 {
		t.Errorf("of %d attempts none has moved a slot", r.Summary.Attempts)
	}
}

// TestAClusterWhoseDirectoriesAreCopiedKeepsItsPromises sets directories back, starts a copy beside its original, and
// restarts a drained host.
func TestAClusterWhoseDirectoriesAreCopiedKeepsItsPromises(t *testing.T) {
	if testing.Short() {
		t.Skip("takes half a minute")
	}
	acts := fixed(t, 14*time.Second,
		Fault{Kind: SetBack, At: 500 * time.Millisecond, For: 2 * time.Second, Amount: 0.4},
		Fault{Kind: TwoCopies, At: 6 * time.Second, Order: []int{1}},
		Fault{Kind: SetBack, At: 8 * time.Second, For: 500 * time.Millisecond, Order: []int{2}, Amount: 0.6},
		Fault{Kind: RestartDrained, At: 11 * time.Second, For: time.Second, Order: []int{1}, Amount: 0.6},
	)
	r := play(t, Config{Acts: acts})
	report(t, r)
	if skipped := r.Summary.Faults[SetBack].Skipped; skipped > 1 {
		t.Errorf("%d directories were not set back", skipped)
	}
}
