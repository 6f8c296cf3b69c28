//go:build linux

package chaos

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/servertest/process"
)

const (
	// readyTimeout is the maximum start time of a host without faults.
	readyTimeout = 60 * time.Second
	// stopTimeout is the maximum time for a clean stop, even under faults.
	stopTimeout = 30 * time.Second
)

// cluster is the hosts. It is safe for concurrent use. A fault must claim a host before changing it.
type cluster struct {
	dir    string
	places []*process.Place
	disk   *disk // for the last bootstrap host; nil if it has no separate disk
	// advertised are the addresses of the hosts for peers.
	advertised []string
	leaving    sync.Mutex     // serializes hosts leaving the cluster or losing their directory
	exits      sync.WaitGroup // pending records of ended processes

	mu         sync.Mutex // guards what follows
	running    []*incarnation
	claimed    []bool
	absent     []bool // places whose hosts are not cluster members
	starts     int
	batches    int // approximate batches between snapshots on newly started hosts; 0 for their default
	loads      int // host starts with a snapshot to load
	activities map[Activity]int
	seen       map[string]partialSnapshot // by their paths
	problems   []string                   // such as an unexpected host exit
	errors     map[string]int             // errors logged by hosts, with counts
	// attempts and moved count what countMoves has found, generations are the slots' generations then.
	attempts, moved int
	generations     [protocol.Slots]uint64
}

// incarnation is one process of a host.
type incarnation struct {
	*process.Host
	exiting bool // about to exit, as expected; guarded by the cluster's lock
}

// loopbackAddress is the loopback address for this process's hosts. Local connections originate from 127.0.0.1, and
// other processes use different addresses, so no process can take the port of a host during a short downtime.
var loopbackAddress = func() string {
	pid := os.Getpid()
	return fmt.Sprintf("127.%d.%d.%d", 64+pid>>16&0x3f, pid>>8&0xff, pid&0xff)
}()

// newCluster allocates places for hosts below a directory. The first hosts bootstrap the cluster, the rest may join.
// The listeners are at the peer addresses.
func newCluster(program process.Program, dir string, names []string, first int) (*cluster, []net.Listener, error) {
	places, err := process.Places(program, dir, names)
	if err != nil {
		return nil, nil, err
	}
	var listeners []net.Listener
	var advertised, list []string
	for _, p := range places {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, nil, fmt.Errorf("chaos: listen for host %s: %w", p.Name, err)
		}
		listeners = append(listeners, listener)
		advertised = append(advertised, listener.Addr().String())
		list = append(list, p.Name+"="+listener.Addr().String())
	}
	for _, p := range places {
		for _, a := range []*string{&p.Client, &p.Raft, &p.Admin} {
			*a = strings.Replace(*a, "127.0.0.1", loopbackAddress, 1)
		}
		p.Args = []string{"--name", p.Name, "--shards", strconv.Itoa(shards), "--initial-hosts",
			strings.Join(list[:first], ",")}
	}
	n := len(places)
	absent := make([]bool, n)
	for i := first; i < n; i++ {
		absent[i] = true
	}
	return &cluster{
		dir: dir, places: places, advertised: advertised, running: make([]*incarnation, n), claimed: make([]bool, n),
		absent: absent, errors: make(map[string]int), activities: make(map[Activity]int),
		seen: make(map[string]partialSnapshot),
	}, listeners, nil
}

// start starts a host.
func (c *cluster) start(i int, extra ...string) error {
	place := *c.places[i]
	place.Args = slices.Concat(place.Args, c.snapshotArgs(), extra)
	loads := completeSnapshots(place.Dir) > 0
	h, err := place.Start()
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if loads {
		c.loads++
	}
	running := &incarnation{Host: h}
	c.running[i] = running
	c.starts++
	log := filepath.Join(c.dir, fmt.Sprintf("%03d-%s.log", c.starts, place.Name))
	c.exits.Go(func() {
		<-h.Gone()
		c.mu.Lock()
		defer c.mu.Unlock()
		if !running.exiting {
			c.problems = append(c.problems,
				fmt.Sprintf("host %s ended by itself with code %d; its log is in %s", place.Name, h.ExitCode(), log))
		}
		c.countErrors(h.Errors())
		if err := os.WriteFile(log, []byte(h.Errors()+h.Output()), 0o640); err != nil {
			c.problems = append(c.problems, err.Error())
		}
	})
	return nil
}

// snapshotArgs are the arguments for the snapshot interval.
func (c *cluster) snapshotArgs() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.batches == 0 {
		return nil
	}
	return []string{"--raft-snapshot-bytes", strconv.Itoa(c.batches * batchBytes)}
}

// batchBytes is the approximate log size of a batch in an act: one or two commands with little data.
const batchBytes = 1 << 10

// snapshotEvery sets the approximate number of batches between snapshots for hosts started from now on.
func (c *cluster) snapshotEvery(batches int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.batches = batches
}

// message matches the message in an error-level log line.
var message = regexp.MustCompile(`level=ERROR msg=("(?:[^"\\]|\\.)*"|\S+)`)

// countErrors counts the errors in a log. The lock is held.
func (c *cluster) countErrors(log string) {
	for _, found := range message.FindAllStringSubmatch(log, -1) {
		c.errors[brief(found[1])]++
	}
}

// variable matches the variable text in messages of a kind.
var variable = regexp.MustCompile(`/\S+/|[0-9A-F]{16}`)

// brief is a message without its variable text.
func brief(message string) string {
	text, _, _ := strings.Cut(message, `\n`)
	return variable.ReplaceAllString(strings.Trim(text, `"`), "...")
}

// host returns a host's process, or nil.
func (c *cluster) host(i int) *incarnation {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.running[i]
}

// pids returns the hosts' process ids, 0 for a stopped host.
func (c *cluster) pids() []int {
	c.mu.Lock()
	defer c.mu.Unlock()
	pids := make([]int, len(c.running))
	for i, h := range c.running {
		if h != nil {
			pids[i] = h.PID()
		}
	}
	return pids
}

// expectExit marks a host's process as about to exit, and returns it.
func (c *cluster) expectExit(i int) *incarnation {
	c.mu.Lock()
	defer c.mu.Unlock()
	running := c.running[i]
	if running != nil {
		running.exiting = true
	}
	return running
}

// cancelExit undoes expectExit for a process that keeps running.
func (c *cluster) cancelExit(running *incarnation) {
	c.mu.Lock()
	defer c.mu.Unlock()
	running.exiting = false
}

// removeProcess records that a host has no process.
func (c *cluster) removeProcess(i int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.running[i] = nil
}

// kill kills a host, and counts the interrupted activities.
func (c *cluster) kill(i int) {
	h := c.expectExit(i)
	if h == nil {
		return
	}
	h.Kill()
	c.countActivities(c.activitiesOf(i)...)
	c.removeProcess(i)
}

// countActivities counts activities interrupted by a kill.
func (c *cluster) countActivities(list ...Activity) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, a := range list {
		c.activities[a]++
	}
}

// sawSnapshot records a snapshot in progress.
func (c *cluster) sawSnapshot(u partialSnapshot) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seen[u.path] = u
}

// idle reports whether a host runs and is not claimed.
func (c *cluster) idle(i int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.running[i] != nil && !c.claimed[i]
}

// stop stops a host cleanly. If it does not exit, or exits with an error, a problem is recorded, and the host is
// killed.
func (c *cluster) stop(i int) {
	h := c.expectExit(i)
	if h == nil {
		return
	}
	if err := h.Stop(stopTimeout); err != nil {
		c.addProblem(err.Error())
		h.Kill()
	}
	c.removeProcess(i)
}

// addProblem records a problem.
func (c *cluster) addProblem(text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.problems = append(c.problems, text)
}

// takeProblems returns the problems since its last call.
func (c *cluster) takeProblems() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	problems := c.problems
	c.problems = nil
	return problems
}

// pause stops a host's process with SIGSTOP.
func (c *cluster) pause(i int) (resume func()) {
	h := c.host(i)
	if h == nil || h.Signal(syscall.SIGSTOP) != nil {
		return nil
	}
	return func() { _ = h.Signal(syscall.SIGCONT) }
}

// claim claims all given hosts for a fault, or none; free releases them. Hosts outside the cluster cannot be claimed.
func (c *cluster) claim(hosts ...int) (free func(), ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, i := range hosts {
		if c.claimed[i] || c.absent[i] {
			return nil, false
		}
	}
	for _, i := range hosts {
		c.claimed[i] = true
	}
	return func() { c.free(hosts...) }, true
}

// free releases claimed hosts.
func (c *cluster) free(hosts ...int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, i := range hosts {
		c.claimed[i] = false
	}
}

// leader returns the host that leads the most shards among answering hosts, or -1.
func (c *cluster) leader() int {
	best, most := -1, 0
	for i := range c.places {
		c.mu.Lock()
		h, busy := c.running[i], c.claimed[i]
		c.mu.Unlock()
		if h == nil || busy {
			continue
		}
		if n, err := h.Led(); err == nil && n > most {
			best, most = i, n
		}
	}
	return best
}

// awaitReady waits until all hosts serve.
func (c *cluster) awaitReady(within time.Duration) error {
	deadline := time.Now().Add(within)
	var wrong []error
	for _, i := range c.members() {
		if h := c.host(i); h == nil {
			wrong = append(wrong, fmt.Errorf("chaos: host %s does not run", c.places[i].Name))
		} else if err := h.AwaitReady(time.Until(deadline)); err != nil {
			wrong = append(wrong, err)
		}
	}
	return errors.Join(wrong...)
}

// close stops all hosts. If data is to be kept, close copies it from the mounted disk to the directory.
func (c *cluster) close(keep bool) {
	for i := range c.places {
		if h := c.expectExit(i); h != nil {
			h.Kill()
			c.removeProcess(i)
		}
	}
	c.exits.Wait()
	if c.disk != nil {
		if keep {
			c.disk.keep(filepath.Join(c.dir, c.places[hosts-1].Name))
		}
		c.disk.unmount()
		c.disk = nil
	}
}
