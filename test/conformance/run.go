package conformance

import (
	"fmt"
	"runtime"
	"sync"
	"time"
)

// Options are how scripts are played.
type Options struct {
	// Driver is the program around the client, with arguments. Run starts a process for every script.
	Driver []string
	// Beside is how many scripts are played in parallel. Scripts wait nearly all of the time.
	Beside int
	// Slack is added to all upper bounds of time, for busy machines.
	Slack time.Duration
	// Verbose puts pings into the records.
	Verbose bool
	// Done is called with every outcome, one at a time, in the order of the ends of scripts.
	Done func(Outcome)
}

// Outcome is the result of a script.
type Outcome struct {
	Script *Script
	// Skipped is an ability in the needs of the script, missing in the driver.
	Skipped string
	// Err is why the client, or the driver, does not conform.
	Err error
	// Record is the course of events, line by line, with seconds since the script began.
	Record []string
	// Errors is the driver's standard error.
	Errors string
	Took   time.Duration
}

// Run plays scripts to a driver, several in parallel, and returns how many failed and were skipped. Every script
// gets a driver and hosts of its own, so that scripts share nothing but the machine.
func Run(scripts []*Script, o Options) (failed, skipped int) {
	var lock sync.Mutex
	var players sync.WaitGroup
	next := make(chan *Script)
	starting := make(chan struct{}, 2*runtime.NumCPU())
	for range max(1, o.Beside) {
		players.Go(func() {
			for s := range next {
				outcome := playOne(s, o, starting)
				lock.Lock()
				if outcome.Err != nil {
					failed++
				} else if outcome.Skipped != "" {
					skipped++
				}
				if o.Done != nil {
					o.Done(outcome)
				}
				lock.Unlock()
			}
		})
	}
	for _, s := range scripts {
		next <- s
	}
	close(next)
	players.Wait()
	return failed, skipped
}

func playOne(s *Script, o Options, starting chan struct{}) Outcome {
	outcome := Outcome{Script: s}
	p, err := newPlay(s, o)
	if err != nil {
		outcome.Err = fmt.Errorf("the hosts of the script: %w", err)
		return outcome
	}
	outcome.Skipped, outcome.Err = p.run(o.Driver, starting)
	outcome.Took, outcome.Record = time.Since(p.began), p.record
	if p.driver != nil {
		outcome.Errors = p.driver.process.Errors()
	}
	return outcome
}
