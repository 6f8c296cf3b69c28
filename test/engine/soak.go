package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"
)

// Soak is a test binary that runs worlds with fresh seeds, each in a separate process: the engine has state shared by
// all bubbles in a process, and ends the process if it cannot continue.
type Soak struct {
	For time.Duration
	// Parallel is the number of concurrent worlds.
	Parallel int
	// World returns a seed's plan, and the flags that make the binary run the plan; no flags if unwanted.
	World func(seed uint64) (plan fmt.Stringer, flags []string)
	// First is the first seed. Default: the time.
	First uint64
	// Played, if set, is called after each world, one call at a time.
	Played func(seed uint64, out []byte, err error)
}

// Run runs worlds until the time is up, or one has failed.
func (s *Soak) Run(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex // guards seed and played
	seed, played, until := s.First, 0, time.Now().Add(s.For)
	if seed == 0 {
		seed = uint64(time.Now().UnixMilli())
	}
	var players sync.WaitGroup
	for range s.Parallel {
		players.Go(func() {
			for time.Now().Before(until) && !t.Failed() {
				mu.Lock()
				own := seed
				seed++
				mu.Unlock()
				plan, flags := s.World(own)
				if flags == nil {
					continue
				}
				out, err := Apart(t.Context(), program, flags...)
				mu.Lock()
				if s.Played != nil {
					s.Played(own, out, err)
				}
				if err == nil {
					played++
				}
				mu.Unlock()
				if err != nil {
					t.Errorf("%v: %v\n%s", plan, err, out)
					continue
				}
				fmt.Print(string(out))
			}
		})
	}
	players.Wait()
	fmt.Printf("%d worlds\n", played)
}

// Apart makes a test binary run one test in a separate process, and returns its output; for long output, the first
// lines and the end. If virtual time stalls, the test is repeated, because stalls are a limit of virtual time; a mutex
// that is never released blocks each time.
func Apart(ctx context.Context, program string, flags ...string) (out []byte, err error) {
	for range 3 {
		out, err = exec.CommandContext(ctx, program, append([]string{"-test.timeout=0"}, flags...)...).CombinedOutput()
		if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) || exit.ExitCode() != stoodStill {
			break
		}
		fmt.Printf("%q is played again after this:\n%s\n", flags, out[:min(len(out), much)])
	}
	if len(out) > 2*much {
		out = append(append(out[:much:much], "\n...\n"...), out[len(out)-much:]...)
	}
	return out, err
}

// much exceeds any successful test's output.
const much = 20_000
