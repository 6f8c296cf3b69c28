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
	// Beside is the number of scripts played in parallel. Scripts wait nearly all the time.
	Beside int
	// Slack is added to all upper time bounds, for busy machines.
	Slack time.Duration
	// Verbose puts pings into the records.
	Verbose bool
	// Done is called with every outcome, sequentially, in completion order.
	Done func(Outcome)
}

// Outcome is a script's result.
type Outcome struct {
	Script *Script
	// Skipped is an ability that the script needs and the driver lacks.
	Skipped string
	// Err is why the client, or the driver, does not conform.
	Err error
	// Record is the sequence of events, line by line, with seconds since the script began.
	Record []string
	// Errors is the driver's standard error.
	Errors string
	Took   time.Duration
}

// Run plays scripts with a driver, several in parallel, and returns the numbers of failed and skipped scripts. Every
// script gets a new driver and new hosts, so scripts share nothing but the machine.
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
