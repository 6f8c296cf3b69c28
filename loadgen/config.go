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
	// Workload is the workload's name: one of Workloads.
	Workload string
	// Callers is the number of concurrent goroutines, in separate sessions if the workload uses sessions.
	Callers int
	// Connections is the number of connections over which sessions and watches are distributed in turn. A connection
	// is a separate Client with a single connection to every host it uses. The default depends on the workload.
	Connections int
	// Duration is the measurement time. Warmup is the time for which the same work is done before, without
	// measurement. Failures during the warm-up count nevertheless.
	Duration time.Duration
	Warmup   time.Duration
	// Rate is the number of operations begun per second, whether or not earlier operations are done. An operation's
	// latency is then measured from the time at which it was due. With 0, a caller begins the next operation when the
	// last is done.
	Rate float64

	// Endpoints are a running cluster's addresses, separated by commas. Without Endpoints, hosts are started for the
	// run and stopped afterwards.
	Endpoints string
	// Admin are the addresses of the hosts' metrics, such as http://10.0.0.1:7422. Without Admin, a report lacks the
	// hosts' memory and CPU use.
	Admin []string
	// Hosts is the number of hosts to start: 1 or 3. A running cluster reports its own number.
	Hosts int
	// Shards is the number of data shards; 0 leaves the choice to the hosts.
	Shards int
	// Binary is the signalbox program to start. Without Binary, the program is built, if inside the module, or else
	// found in the PATH.
	Binary string
	// ServerFlags are passed to every started host, in addition to the necessary flags.
	ServerFlags []string

	// Dialer, TLS and Token are for client.WithDialer, client.WithTLS and client.WithToken.
	Dialer client.DialFunc
	TLS    *tls.Config
	Token  string

	// Node is the path of the coordination node for the work. A missing node is created, and dropped after the run.
	// Without a path, the run creates a new node.
	Node string
	// SessionTimeout is the timeout for all sessions.
	SessionTimeout time.Duration
	// Payload is the size of written data in bytes.
	Payload int
	// Ephemeral makes the workload lock use ephemeral semaphores.
	Ephemeral bool
	// Limit is the semaphore limit in the workload counting.
	Limit int
	// Hold is how long a caller in handoff and counting keeps the semaphore.
	Hold time.Duration
	// Sessions is the number of sessions in the workload idle.
	Sessions int
	// Watchers is the number of watchers in watch, config and discovery, instances in rollout-targets, and members in
	// process-broadcast and process-epoch.
	Watchers int
	// Workers is the number of registered workers in discovery.
	Workers int
	// Free lets updates in watch follow each other immediately, without waiting until all watchers have seen the
	// previous update.
	Free bool
	// SharedWatches lets a connection's watchers share the host's messages, as a Client's watchers do. Without
	// SharedWatches, every watcher in watch and discovery has a separate watch on a host.
	SharedWatches bool
	// Writes is the number of updates per second during the reads in the read workloads; negative for none.
	Writes float64
	// Weights is how often mixed draws every workload.
	Weights map[string]int

	// AllowErrors is the number of operations that may fail before the run counts as failed; negative for any number.
	AllowErrors int64

	// Progress, if set, is called about once per second, and at the start of every step.
	Progress func(Progress)
}

// Progress is a run's progress.
type Progress struct {
	// Step is the current step, in words.
	Step string
	// Elapsed is the elapsed part of Duration; both are 0 in steps without a fixed duration.
	Elapsed, Duration time.Duration
	Operations        int64
	Errors            int64
	// PerSecond counts since the previous progress.
	PerSecond float64
}

// complete returns the config with its defaults, or an error in the config.
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

// watchedBy returns default settings for a workload whose few callers have many watchers, with an equal share per
// caller.
func watchedBy(watchers int) func(*Config) {
	return func(c *Config) {
		orElse(&c.Callers, 1)
		orElse(&c.Watchers, watchers)
		orElse(&c.Connections, min(c.Watchers, 10))
	}
}

// share returns caller i's number of watchers.
func (c *Config) share(i int) int {
	n := c.Watchers / c.Callers
	if i < c.Watchers%c.Callers {
		n++
	}
	return n
}

// orElse replaces a zero value with a default.
func orElse[T comparable](value *T, otherwise T) {
	*value = cmp.Or(*value, otherwise)
}

// validate returns an error in a config with defaults. Errors are found before anything is started or opened.
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
		return fmt.Errorf("loadgen: duration %v, warm-up %v, hold time %v, session timeout %v: "+
			"durations must not be negative", c.Duration, c.Warmup, c.Hold, c.SessionTimeout)
	case c.Rate < 0:
		return fmt.Errorf("loadgen: %g operations a second: a rate must not be negative", c.Rate)
	case c.Rate > 0 && kinds[c.Workload].idles:
		return fmt.Errorf("loadgen: %s does nothing, so it has no rate", c.Workload)
	case c.Payload < minMark:
		return fmt.Errorf("loadgen: data of %d bytes: the checks need %d at least", c.Payload, minMark)
	case c.Endpoints == "" && c.Hosts != 1 && c.Hosts != 3:
		return fmt.Errorf("loadgen: %d hosts to start: the number can be 1 or 3", c.Hosts)
	case c.Dialer != nil && c.Endpoints == "":
		return fmt.Errorf("loadgen: a dialer without endpoints: hosts that are started are dialed by TCP")
	case c.Workload == discoveryKind.Name && (c.Callers > c.Workers || c.Workers >= 1<<workerBits):
		return fmt.Errorf("loadgen: %d callers for %d workers: there must be a worker for each, and fewer than %d in "+
			"all", c.Callers, c.Workers, 1<<workerBits)
	case c.Node != "" && !strings.HasPrefix(c.Node, "/"):
		return fmt.Errorf("loadgen: node path %q: paths begin with /", c.Node)
	}
	return c.validateWeights()
}

// validateWeights returns an error in the weights: unknown workloads, workloads that cannot be mixed, and weights
// below 1.
func (c *Config) validateWeights() error {
	for name, weight := range c.Weights {
		k, ok := kinds[name]
		if !ok || !k.mixes {
			return fmt.Errorf("loadgen: %q cannot be mixed; choose from %s", name, strings.Join(mixable(), ", "))
		}
		if weight < 1 {
			return fmt.Errorf("loadgen: %s has weight %d: weights must be at least 1, or left out", name, weight)
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

// Validate returns an error in the config, nil if it is valid.
func (c Config) Validate() error {
	_, err := c.complete()
	return err
}

// Config defaults, and limits for a run.
const (
	// DefaultDuration is the measurement time.
	DefaultDuration = 10 * time.Second
	// DefaultCallers is the number of callers.
	DefaultCallers = 64
	// DefaultPayload is the size of data written by a workload.
	DefaultPayload = 32
	// DefaultSessionTimeout is long enough that an overloaded machine loses no session.
	DefaultSessionTimeout = 30 * time.Second

	// dialTime is the time limit for creating a connection; a host may have thousands to admit.
	dialTime = 15 * time.Second
	// opening is the number of connections, sessions or watches opened concurrently.
	opening = 64
	// patience is the time limit for an event that must happen: a run's last operations, a watch's last view, a
	// host's start.
	patience = 60 * time.Second
	// lateStarts is how long overdue operations are still begun after the end of an open loop.
	lateStarts = 2 * time.Second
	// cleaning is the time limit for cleaning up after a run.
	cleaning = 30 * time.Second
	// maxRecorders limits the memory for histograms; further callers share recorders. If every caller had a recorder,
	// its counters would no longer be in a processor cache at the next record, and a cache miss costs the load more
	// than a shared lock.
	maxRecorders = 16
	// points is the approximate number of points in a chart over time.
	points = 60
	// minMark is the minimum payload: data must have space for a number.
	minMark = 8
	// maxViolations is the maximum number of violations that are reported in full.
	maxViolations = 10
)
