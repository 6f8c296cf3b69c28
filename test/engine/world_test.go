package engine_test

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox/signalbox/test/engine"
)

var (
	seedFlag = flag.Uint64("seed", 0, "the seed that TestWorld plays; 0: another one each time")
	soak     = flag.Duration("soak", 0, "for how long TestSoak plays worlds, each in a process of its own")
	count    = flag.Int("hosts", 0, "how many hosts worlds have; 0: as many as the seed says")
	length   = flag.Duration("length", 0, "how long a world lasts; 0: as the seed says")
	keep     = flag.String("keep", "", "the directory for histories of worlds that fail; a temporary one by default")
	parallel = flag.Int("worlds", runtime.GOMAXPROCS(0), "how many worlds TestSoak plays at the same time")
)

// realTimeLimit is how much real time one world may take.
const realTimeLimit = 8 * time.Minute

// inBubble runs in a bubble of virtual time, and ends the process with all stacks where that takes too long.
func inBubble(t *testing.T, do func(t *testing.T)) {
	limit := time.AfterFunc(realTimeLimit, func() {
		all := make([]byte, 16<<20)
		fmt.Fprintf(os.Stderr, "not ended within %v\n%s", realTimeLimit, all[:runtime.Stack(all, true)])
		os.Exit(3)
	})
	defer limit.Stop()
	synctest.Test(t, do)
}

// plan is that of a seed, as flags change it.
func plan(seed uint64) engine.Plan {
	p := engine.Draw(seed)
	if *count > 0 {
		p.Hosts = *count
		for len(p.Ticks) < p.Hosts {
			p.Ticks = append(p.Ticks, p.Ticks[0])
		}
	}
	if *length > 0 {
		p.Length = *length
	}
	return p
}

// TestWorld plays one world. A seed is printed before anything is done.
func TestWorld(t *testing.T) {
	seed := *seedFlag
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	p := plan(seed)
	if *seedFlag == 0 && *length == 0 {
		p.Length, p.Hosts, p.Sync = time.Minute, min(p.Hosts, 3), 0
	}
	fmt.Println(p)
	began := time.Now()
	inBubble(t, func(t *testing.T) {
		end(t, engine.Run(p))
	})
	fmt.Printf("%.1f s of wall time\n", time.Since(began).Seconds())
}

// end reports a result. Where goroutines are left, the bubble can only end with the process.
func end(t *testing.T, r *engine.Result) {
	report(t, r)
	if r.Hung {
		code := 0
		if t.Failed() {
			code = 1
			fmt.Printf("--- FAIL: %s\n%v\n", t.Name(), r.Findings)
		}
		os.Exit(code)
	}
}

var directed = flag.String("directed", "",
	"the name of the only fault that TestDirectedFaults does, in its own process")

// TestDirectedFaults does each directed fault in a process of its own, and the long ones before a soak only.
func TestDirectedFaults(t *testing.T) {
	for _, d := range engine.AllDirected {
		t.Run(d.Name, func(t *testing.T) {
			if *directed == d.Name {
				fmt.Printf("directed fault %q, seed %d\n", d.Name, *seedFlag)
				inBubble(t, func(t *testing.T) { end(t, engine.RunDirected(d, *seedFlag)) })
				return
			}
			if *directed != "" || d.Long && *soak == 0 {
				t.SkipNow()
			}
			t.Parallel()
			program, err := os.Executable()
			if err != nil {
				t.Fatal(err)
			}
			run := exec.CommandContext(t.Context(), program, "-test.run=^TestDirectedFaults$", "-directed="+d.Name,
				fmt.Sprint("-seed=", max(*seedFlag, 1)), "-keep="+*keep, "-test.timeout=0")
			if out, err := run.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, tail(out))
			} else if testing.Verbose() {
				fmt.Print(string(out))
			}
		})
	}
}

// report prints what a world amounted to, and keeps the history of one that has failed.
func report(t *testing.T, r *engine.Result) {
	fmt.Println(r)
	if len(r.Findings) == 0 {
		return
	}
	for _, err := range r.Findings {
		t.Error(err)
	}
	dir := *keep
	if dir == "" {
		dir = os.TempDir()
	}
	path := filepath.Join(dir, fmt.Sprintf("engine-%d.history", r.Plan.Seed))
	if err := os.WriteFile(path, []byte(strings.Join(r.History, "\n")+"\n"), 0o600); err != nil {
		t.Error(err)
	}
	t.Errorf("%v\nhistory: %s\nagain: %s", r.Plan, path, r.Plan.Again())
}

// TestSoak plays worlds of fresh seeds, each in a process of its own: the engine keeps state that all bubbles of a
// process would share, and ends the process where it cannot go on.
func TestSoak(t *testing.T) {
	if *soak == 0 {
		t.Skip("-soak says for how long")
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex // guards seed and played
	seed, played, until := uint64(time.Now().UnixMilli()), 0, time.Now().Add(*soak)
	var players sync.WaitGroup
	for range *parallel {
		players.Go(func() {
			for time.Now().Before(until) && !t.Failed() {
				mu.Lock()
				seed++
				played++
				own := seed
				mu.Unlock()
				run := exec.CommandContext(t.Context(), program, "-test.run=^TestWorld$", "-test.timeout=0",
					fmt.Sprint("-seed=", own), fmt.Sprint("-hosts=", *count), fmt.Sprint("-length=", *length),
					"-keep="+*keep)
				out, err := run.CombinedOutput()
				if err != nil {
					t.Errorf("%v: %v\n%s", engine.Draw(own), err, tail(out))
				} else {
					fmt.Print(string(out))
				}
			}
		})
	}
	players.Wait()
	fmt.Printf("%d worlds\n", played)
}

// tail is the end of an output, with its first lines.
func tail(out []byte) []byte {
	const most = 20_000
	if len(out) > 2*most {
		return append(append(out[:most:most], "\n...\n"...), out[len(out)-most:]...)
	}
	return out
}
