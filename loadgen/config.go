package loadgen

import (
	"cmp"
	"crypto/tls"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/signalbox/signalbox/client"
)

// Config describes a run. Only Workload is required.
type Config struct {
	// Command is the command line, for the report.
	Command string
	// Workload is the name of the work: one of Workloads.
	Workload string
	// Callers is how many goroutines work at once, in separate sessions if the workload uses sessions.
	Callers int
	// Connections is over how many connections sessions and watches are spread, in turn. A connection is a separate
	// Client with a single connection to every host it uses. The default is the usual number for the workload.
	Connections int
	// Duration is the time of the measurement, Warmup the time of equal work before, without measurement. Failures in
	// the warm-up count nevertheless.
	Duration time.Duration
	Warmup   time.Duration
	// Rate is how many operations a second are begun, whether or not earlier operations are done. The latency of an
	// operation then counts from the time at which the operation was due. With 0, a caller begins the next operation
	// when the last is done.
	Rate float64

	// Endpoints are the addresses of a running cluster, separated by commas. Without Endpoints, hosts are started for
	// the run and stopped afterwards.
	Endpoints string
	// Admin are the addresses of the hosts' metrics, such as http://10.0.0.1:7422. Without Admin a report has no
	// memory and no CPU of the hosts.
	Admin []string
	// Hosts is how many hosts are started: 1 or 3. A running cluster reports its own number.
	Hosts int
	// Shards is the number of data shards; 0 leaves the number to the hosts.
	Shards int
	// Binary is the signalbox program to start. Without Binary the program is built, inside the module, or else found
	// in the PATH.
	Binary string
	// ServerFlags are given to every started host, besides the necessary flags.
	ServerFlags []string

	// Dialer, TLS and Token are for client.WithDialer, client.WithTLS and client.WithToken.
	Dialer client.DialFunc
	TLS    *tls.Config
	Token  string

	// Node is the path of the coordination node for the work. A missing node is created, and dropped after the run.
	// Without a path, the run creates a new node.
	Node string
	// SessionTimeout is the timeout of all sessions.
	SessionTimeout time.Duration
	// Payload is the size of written data, in bytes.
	Payload int
	// Ephemeral lets the workload lock use ephemeral semaphores.
	Ephemeral bool
	// Limit is the limit of the semaphore of the workload counting.
	Limit int
	// Hold is how long a caller of handoff and counting keeps the semaphore.
	Hold time.Duration
	// Sessions is how many the workload idle holds.
	Sessions int
	// Watchers is the number of watchers in watch, config and discovery, of instances in rollout-targets, and of
	// members in process-broadcast and process-epoch.
	Watchers int
	// Workers is how many are registered in discovery.
	Workers int
	// Free lets updates in watch follow each other at once, without waiting until all watchers have seen the update
	// before.
	Free bool
	// SharedWatches lets the watchers of a connection share the messages of the host, as watchers of a Client do.
	// Without SharedWatches every watcher of watch and discovery has a separate watch at a host.
	SharedWatches bool
	// Writes is how many updates a second are made beside the reads of the read workloads; negative for none.
	Writes float64
	// Weights says how often mixed draws a workload.
	Weights map[string]int

	// AllowErrors is how many operations may fail before the run counts as failed; negative for any number.
	AllowErrors int64

	// Progress, if it is set, is called about once a second, and at the start of every step.
	Progress func(Progress)
}

// Progress is how far a run is.
type Progress struct {
	// Step is the present step, in words.
	Step string
	// Elapsed is the part of Duration that is over; both are 0 in steps without a fixed duration.
	Elapsed, Duration time.Duration
	Operations        int64
	Errors            int64
	// PerSecond counts since the progress before.
	PerSecond float64
}

// complete returns the config with its defaults, or a mistake in the config.
func (c Config) complete() (Config, error) {
	k, ok := kinds[c.Workload]
	if !ok {
		return c, fmt.Errorf("loadgen: there is no workload %q; there are %s", c.Workload, strings.Join(names(), ", "))
	}
	orElse(&c.Duration, DefaultDuration)
	orElse(&c.SessionTimeout, DefaultSessionTimeout)
	orElse(&c.Payload, DefaultPayload)
	orElse(&c.Hosts, 1)
	orElse(&c.Limit, 4)
	orElse(&c.Workers, 100)
	if k.defaults != nil {
		k.defaults(&c)
	}
	orElse(&c.Callers, DefaultCallers)
	orElse(&c.Connections, max(1, min(8, c.Callers/128)))
	return c, c.validate()
}

// watchedBy returns the usual values of a workload whose few callers have many watchers, each of the callers a share.
func watchedBy(watchers int) func(*Config) {
	return func(c *Config) {
		orElse(&c.Callers, 1)
		orElse(&c.Watchers, watchers)
		orElse(&c.Connections, min(c.Watchers, 10))
	}
}

// share is how many of the watchers caller i has.
func (c *Config) share(i int) int {
	n := c.Watchers / c.Callers
	if i < c.Watchers%c.Callers {
		n++
	}
	return n
}

// orElse replaces a zero value by a default.
func orElse[T comparable](value *T, otherwise T) {
	*value = cmp.Or(*value, otherwise)
}

// validate returns a mistake in a config with defaults. Mistakes are found before anything is started or opened.
func (c *Config) validate() error {
	for _, n := range []struct {
		name string
		n    int
	}{
		{"callers", c.Callers}, {"connections", c.Connections}, {"sessions", c.Sessions}, {"watchers", c.Watchers},
		{"workers", c.Workers}, {"limit", c.Limit}, {"bytes of data", c.Payload}, {"shards", c.Shards},
	} {
		if n.n < 0 {
			return fmt.Errorf("loadgen: %d %s: there cannot be fewer than none", n.n, n.name)
		}
	}
	switch {
	case c.Duration <= 0 || c.Warmup < 0 || c.Hold < 0 || c.SessionTimeout < 0:
		return fmt.Errorf("loadgen: a duration of %v, a warm-up of %v, %v to hold, a session timeout of %v: "+
			"they must not be negative", c.Duration, c.Warmup, c.Hold, c.SessionTimeout)
	case c.Rate < 0:
		return fmt.Errorf("loadgen: %g operations a second: a rate must not be negative", c.Rate)
	case c.Rate > 0 && kinds[c.Workload].idles:
		return fmt.Errorf("loadgen: %s does nothing, so it has no rate", c.Workload)
	case c.Payload < minMark:
		return fmt.Errorf("loadgen: data of %d bytes: the checks need %d at least", c.Payload, minMark)
	case c.Endpoints == "" && c.Hosts != 1 && c.Hosts != 3:
		return fmt.Errorf("loadgen: %d hosts to start: it can be 1 or 3", c.Hosts)
	case c.Dialer != nil && c.Endpoints == "":
		return fmt.Errorf("loadgen: a dialer without endpoints: hosts that are started are dialed by TCP")
	case c.Workload == discoveryKind.Name && (c.Callers > c.Workers || c.Workers >= 1<<workerBits):
		return fmt.Errorf("loadgen: %d callers for %d workers: there must be a worker for each, and fewer than %d in "+
			"all", c.Callers, c.Workers, 1<<workerBits)
	case c.Node != "" && !strings.HasPrefix(c.Node, "/"):
		return fmt.Errorf("loadgen: the path of the node is %q: paths begin with /", c.Node)
	}
	return c.validateWeights()
}

// validateWeights returns a mistake in the weights: unknown workloads, workloads that cannot be mixed, and weights
// below 1.
func (c *Config) validateWeights() error {
	for name, weight := range c.Weights {
		k, ok := kinds[name]
		if !ok || !k.mixes {
			return fmt.Errorf("loadgen: %q cannot be mixed; what can is %s", name, strings.Join(mixable(), ", "))
		}
		if weight < 1 {
			return fmt.Errorf("loadgen: %s has a weight of %d: it must be at least 1, or left out", name, weight)
		}
	}
	if c.Weights != nil && c.Workload != "mixed" {
		return fmt.Errorf("loadgen: weights are for the workload mixed, not for %s", c.Workload)
	}
	return nil
}

func mixable() []string {
	return slices.DeleteFunc(names(), func(name string) bool { return !kinds[name].mixes })
}

// Validate returns a mistake in the config, nil without a mistake.
func (c Config) Validate() error {
	_, err := c.complete()
	return err
}

// The defaults of a Config, and the bounds of a run.
const (
	// DefaultDuration is the time of the measurement.
	DefaultDuration = 10 * time.Second
	// DefaultCallers is the number of callers.
	DefaultCallers = 64
	// DefaultPayload is the size of the data written by a workload.
	DefaultPayload = 32
	// DefaultSessionTimeout is so long that a machine at its limits loses no session.
	DefaultSessionTimeout = 30 * time.Second

	// dialTime bounds the making of a connection; a host may have thousands to welcome.
	dialTime = 15 * time.Second
	// opening is how many connections, sessions or watches are opened at once.
	opening = 64
	// patience is how long an event may take that must come: the last operations of a run, the last view of a watch,
	// the start of a host.
	patience = 60 * time.Second
	// lateStarts is how long after the end of an open loop overdue operations are begun.
	lateStarts = 2 * time.Second
	// cleaning bounds the cleaning up after a run.
	cleaning = 30 * time.Second
	// maxRecorders bounds the memory for histograms; further callers share recorders. If every caller had a recorder,
	// the counters would be in no cache of the processor at the next record, and a miss costs the load more than a
	// shared lock.
	maxRecorders = 16
	// points is about how many points a chart over time has.
	points = 60
	// minMark is the least payload: data must have room for a number.
	minMark = 8
	// maxViolations bounds how many violations are reported in full.
	maxViolations = 10
)
