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

	"github.com/signalbox/signalbox/server/servertest/process"
)

const (
	// readyTimeout is how long a host may take until it serves, where no fault keeps it from that.
	readyTimeout = 60 * time.Second
	// stopTimeout is how long a host may take to stop in order, whatever faults there are.
	stopTimeout = 30 * time.Second
)

// cluster is the hosts. It is safe for use by many goroutines. A fault claims a host before it changes it.
type cluster struct {
	dir    string
	places []*process.Place
	disk   *disk // of the last host of the bootstrap; nil where it has none of its own
	// advertised are the addresses at which others reach the hosts.
	advertised []string
	leaving    sync.Mutex     // of those that leave the cluster, or lose their directory, one at a time does
	exits      sync.WaitGroup // what is recorded of processes that have ended

	mu         sync.Mutex // guards what follows
	running    []*incarnation
	claimed    []bool
	absent     []bool // places whose hosts are not of the cluster
	starts     int
	batches    int // about between snapshots, for hosts that are started; 0 for their default
	loads      int // starts of hosts that had a snapshot to load
	activities map[Activity]int
	seen       map[string]partialSnapshot // by their paths
	problems   []string                   // such as a host that ended by itself
	errors     map[string]int             // that hosts logged, and how often
}

// incarnation is one process of a host.
type incarnation struct {
	*process.Host
	exiting bool // it is about to end, as it should; the cluster's lock guards it
}

// loopbackAddress is the address of this machine at which the hosts of this process listen. Connections within the
// machine begin at 127.0.0.1, and other processes have other addresses, so no process can use the port of a host that
// is down for a moment.
var loopbackAddress = func() string {
	pid := os.Getpid()
	return fmt.Sprintf("127.%d.%d.%d", 64+pid>>16&0x3f, pid>>8&0xff, pid&0xff)
}()

// newCluster finds places for hosts below a directory. So many of them are the first, the others may join. The
// listeners are at the addresses by which hosts know each other.
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

// snapshotArgs are the arguments that set how often a host saves snapshots.
func (c *cluster) snapshotArgs() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.batches == 0 {
		return nil
	}
	return []string{"--raft-snapshot-bytes", strconv.Itoa(c.batches * batchBytes)}
}

// batchBytes is about what a batch of an act counts for the log of a host: one or two commands with little data.
const batchBytes = 1 << 10

// snapshotEvery sets after about how many batches hosts save snapshots that are started from now on.
func (c *cluster) snapshotEvery(batches int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.batches = batches
}

// message matches the message of a line of a host's log at the level of errors.
var message = regexp.MustCompile(`level=ERROR msg=("(?:[^"\\]|\\.)*"|\S+)`)

// countErrors counts the errors in a log. The lock is held.
func (c *cluster) countErrors(log string) {
	for _, found := range message.FindAllStringSubmatch(log, -1) {
		c.errors[brief(found[1])]++
	}
}

// variable matches what differs between messages of a kind.
var variable = regexp.MustCompile(`/\S+/|[0-9A-F]{16}`)

// brief is a message without what differs between messages of its kind.
func brief(message string) string {
	text, _, _ := strings.Cut(message, `\n`)
	return variable.ReplaceAllString(strings.Trim(text, `"`), "...")
}

// host returns the process of a host, nil where there is none.
func (c *cluster) host(i int) *incarnation {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.running[i]
}

// pids returns the process ids of the hosts, 0 for one that does not run.
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

// expectExit records that a host's process is about to end, and returns it.
func (c *cluster) expectExit(i int) *incarnation {
	c.mu.Lock()
	defer c.mu.Unlock()
	running := c.running[i]
	if running != nil {
		running.exiting = true
	}
	return running
}

// cancelExit records that a process that was about to end does not end after all.
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

// kill kills a host, and counts what that interrupted.
func (c *cluster) kill(i int) {
	h := c.expectExit(i)
	if h == nil {
		return
	}
	h.Kill()
	c.countActivities(c.activitiesOf(i)...)
	c.removeProcess(i)
}

// countActivities counts what a kill interrupted.
func (c *cluster) countActivities(list ...Activity) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, a := range list {
		c.activities[a]++
	}
}

// sawSnapshot records that a snapshot is under way.
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

// stop stops a host in order. One that does not end, or ends with an error, is a problem, and is killed.
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

// pause stops the process of a host with SIGSTOP.
func (c *cluster) pause(i int) (resume func()) {
	h := c.host(i)
	if h == nil || h.Signal(syscall.SIGSTOP) != nil {
		return nil
	}
	return func() { _ = h.Signal(syscall.SIGCONT) }
}

// claim claims hosts for a fault, all of them or none; free releases them. One that is not of the cluster cannot be
// claimed.
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

// free releases hosts that were claimed.
func (c *cluster) free(hosts ...int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, i := range hosts {
		c.claimed[i] = false
	}
}

// leader returns the host that leads the most shards, of those that answer; -1 where none leads any.
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

// close ends all hosts. What they have on a mounted disk is copied to the directory if it is to be kept.
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
