package loadgen

import (
	"crypto/tls"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/signalbox/signalbox/client"
)

// Config says what a run does. Only Workload must be set.
type Config struct {
	// Command is what was typed, for the report.
	Command string
	// Workload is the name of what is done: one of Workloads.
	Workload string
	// Callers is how many goroutines do it at the same time, each in a session of its own where sessions
	// are needed.
	Callers int
	// Connections is over how many connections sessions and watches are spread, in turn. Each is a
	// Client of its own with one connection to every host that it has business with. The default is what
	// the workload is mostly measured with.
	Connections int
	// Duration is how long is measured, Warmup how long the same is done before without being measured. What
	// fails in the warm-up is counted nevertheless.
	Duration time.Duration
	Warmup   time.Duration
	// Rate is how many operations a second are begun, whether or not those before are done; latency is then
	// counted from when an operation was due. With 0 each caller begins its next when its last is done.
	Rate float64

	// Endpoints are the addresses of a cluster that runs already, separated by commas. Without any,
	// hosts are started for the run and stopped after it.
	Endpoints string
	// Admin are the addresses, such as http://10.0.0.1:7422, at which those hosts show their metrics. Without
	// them a report says nothing about the hosts' memory and CPU.
	Admin []string
	// Hosts is how many hosts are started: 1 or 3. For a cluster that runs already the cluster reports it.
	Hosts int
	// Shards is how many data shards they have; 0 leaves it to them.
	Shards int
	// Binary is the signalbox program to start. Without one it is built, inside the module, or else looked
	// for in the PATH.
	Binary string
	// ServerFlags are given to every host that is started, besides those it needs.
	ServerFlags []string

	// Dialer, TLS and Token are those of client.WithDialer, client.WithTLS and client.WithToken.
	Dialer client.DialFunc
	TLS    *tls.Config
	Token  string

	// Node is the path of the coordination node that is worked in. One that does not exist is created, and
	// dropped after the run. Without a path it is a new one.
	Node string
	// SessionTimeout is that of all sessions.
	SessionTimeout time.Duration
	// Payload is the size of the data that is written, in bytes.
	Payload int
	// Ephemeral lets the workload lock use semaphores that come and go.
	Ephemeral bool
	// Limit is that of the semaphore of the workload counting.
	Limit int
	// Hold is how long a caller of handoff and counting keeps the semaphore.
	Hold time.Duration
	// Sessions is how many the workload idle holds.
	Sessions int
	// Watchers is how many watch: in watch, config and discovery, the instances in rollout-targets,
	// and the members in process-broadcast and process-epoch.
	Watchers int
	// Workers is how many are registered in discovery.
	Workers int
	// Free lets an update follow the one before at once in watch, instead of when all watchers have seen it.
	Free bool
	// SharedWatches lets the watchers of one connection share what the host sends, as those of one Client
	// do. Otherwise every watcher of watch and discovery has a watch of its own at a host.
	SharedWatches bool
	// Writes is how many updates a second are made beside the reads of the read workloads; negative for none.
	Writes float64
	// Weights is what mixed is mixed of: how often each workload is drawn.
	Weights map[string]int

	// AllowErrors is how many operations may fail before the run counts as failed; negative for any number.
	AllowErrors int64

	// Progress, if it is set, is called about once a second, and at the start of every step.
	Progress func(Progress)
}

// Progress is how far a run is.
type Progress struct {
	// Step says what is being done, in words.
	Step string
	// Elapsed of Duration are over; both are 0 in steps that take as long as they take.
	Elapsed, Duration time.Duration
	Operations        int64
	Errors            int64
	// PerSecond counts since the progress before.
	PerSecond float64
}

// complete returns the config with its defaults, or says what is wrong with it.
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

func orElse[T comparable](value *T, otherwise T) {
	var zero T
	if *value == zero {
		*value = otherwise
	}
}

func (c *Config) validate() error {
	for _, n := range []struct {
		name string
		n    int
	}{
		{"callers", c.Callers}, {"connections", c.Connections}, {"sessions", c.Sessions}, {"watchers", c.Watchers},
		{"workers", c.Workers}, {"limit", c.Limit}, {"payload", c.Payload}, {"shards", c.Shards},
	} {
		if n.n < 0 {
			return fmt.Errorf("loadgen: %d %s: there cannot be fewer than none", n.n, n.name)
		}
	}
	switch {
	case c.Duration <= 0 || c.Warmup < 0 || c.Hold < 0 || c.SessionTimeout < 0:
		const format = "loadgen: a duration of %v, a warm-up of %v, %v to hold, a session timeout of %v: " +
			"they must not be negative"
		return fmt.Errorf(format,
			c.Duration, c.Warmup, c.Hold, c.SessionTimeout)
	case c.Rate < 0:
		return fmt.Errorf("loadgen: %g operations a second: a rate must not be negative", c.Rate)
	case c.Rate > 0 && kinds[c.Workload].idles:
		return fmt.Errorf("loadgen: %s does nothing, so it has no rate", c.Workload)
	case c.Payload < minMark:
		return fmt.Errorf("loadgen: a payload of %d bytes: the checks need %d at least", c.Payload, minMark)
	case c.Endpoints == "" && c.Hosts != 1 && c.Hosts != 3:
		return fmt.Errorf("loadgen: %d hosts to start: it can be 1 or 3", c.Hosts)
	case c.Dialer != nil && c.Endpoints == "":
		return fmt.Errorf("loadgen: a dialer without endpoints: hosts that are started are dialed by TCP")
	case c.Workload == discoveryKind.Name && (c.Callers > c.Workers || c.Workers >= 1<<workerBits):
		const format = "loadgen: %d callers for %d workers: there must be a worker for each, and fewer than %d in all"
		return fmt.Errorf(format,
			c.Callers, c.Workers, 1<<workerBits)
	case c.Node != "" && !strings.HasPrefix(c.Node, "/"):
		return fmt.Errorf("loadgen: the path of the node is %q: paths begin with /", c.Node)
	}
	return c.validateWeights()
}

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

// Validate says what is wrong with the config, nil for nothing.
func (c Config) Validate() error {
	_, err := c.complete()
	return err
}

// What a run does where its Config does not say otherwise, and what bounds it.
const (
	// DefaultDuration is how long is measured.
	DefaultDuration = 10 * time.Second
	// DefaultCallers is how many callers there are.
	DefaultCallers = 64
	// DefaultPayload is the size of data that a workload writes.
	DefaultPayload = 32
	// DefaultSessionTimeout is long enough that a machine that is worked to its limits loses no session.
	DefaultSessionTimeout = 30 * time.Second

	// dialTime bounds the making of a connection; a host may have thousands to welcome.
	dialTime = 15 * time.Second
	// opening is how many connections, sessions or watches are opened at the same time.
	opening = 64
	// patience is how long anything may take that must come some time: the last operations of a run, the
	// last view of a watch, a host that starts.
	patience = 60 * time.Second
	// lateStarts is how long after the end of an open loop operations that were due before it are begun.
	lateStarts = 2 * time.Second
	// cleaning bounds what is tidied up after a run.
	cleaning = 30 * time.Second
	// maxRecorders bounds the memory for histograms; more callers share them. With one for each caller their counters
	// are in no cache of the processor when the next time is recorded, which costs the load more than a shared lock.
	maxRecorders = 16
	// points is about how many points a chart over time has.
	points = 60
	// minMark is the least payload: it has to hold a number.
	minMark = 8
	// maxViolations bounds how many violations are reported in full.
	maxViolations = 10
)
