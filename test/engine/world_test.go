package engine_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
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

// plan is a seed's plan, modified by flags.
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

// TestWorld runs one world. The seed is printed first.
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
	engine.InBubble(t, p, func(t *testing.T) { end(t, engine.Run(p)) })
	fmt.Printf("%.1f s of wall time\n", time.Since(began).Seconds())
}

// end reports a result. If goroutines remain, the bubble can only end with the process.
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

// TestDirectedFaults runs each directed fault in a separate process, and long ones only before a soak.
func TestDirectedFaults(t *testing.T) {
	for _, d := range engine.AllDirected {
		t.Run(d.Name, func(t *testing.T) {
			if *directed == d.Name {
				fmt.Printf("directed fault %q, seed %d\n", d.Name, *seedFlag)
				engine.InBubble(t, d, func(t *testing.T) { end(t, engine.RunDirected(d, *seedFlag)) })
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
			out, err := engine.Apart(t.Context(), program, "-test.run=^TestDirectedFaults$", "-directed="+d.Name,
				fmt.Sprint("-seed=", max(*seedFlag, 1)), "-keep="+*keep)
			if err != nil {
				t.Errorf("%v\n%s", err, out)
			} else if testing.Verbose() {
				fmt.Print(string(out))
			}
		})
	}
}

// report prints a world's result, and saves the history if it failed.
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

// TestSoak runs worlds with fresh seeds.
func TestSoak(t *testing.T) {
	if *soak == 0 {
		t.Skip("-soak says for how long")
	}
	s := engine.Soak{For: *soak, Parallel: *parallel, World: func(seed uint64) (fmt.Stringer, []string) {
		return engine.Draw(seed), []string{"-test.run=^TestWorld$", fmt.Sprint("-seed=", seed),
			fmt.Sprint("-hosts=", *count), fmt.Sprint("-length=", *length), "-keep=" + *keep}
	}}
	s.Run(t)
}
