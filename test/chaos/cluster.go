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
	// readyPatience is how long a host may take until it serves, where nothing hinders it.
	readyPatience = 60 * time.Second
	// stopPatience is how long a host may take to leave in peace, whatever hinders it.
	stopPatience = 30 * time.Second
)

// cluster is the hosts. It is safe for use by many goroutines; who changes a host has claimed it before.
type cluster struct {
	dir    string
	places []*process.Place
	disk   *disk // of the last host; nil where it has none of its own
	// obituaries are written when processes have ended.
	obituaries sync.WaitGroup

	mu      sync.Mutex // guards what follows
	running []*life
	claimed []bool
	lives   int
	batches int // between snapshots, for hosts that are started; theirs to say where it is 0
	loads   int // starts of hosts that had a snapshot to load
	moments map[Moment]int
	seen    map[string]unfinished // snapshots, by their paths
	wrong   []string              // that hosts ended by themselves, and the like
	errors  map[string]int        // that hosts logged, and how often
}

// life is one process of a host.
type life struct {
	*process.Host
	leaving bool // it is about to end, as it should; the cluster's lock guards it
}

// apart is the address of this machine at which the hosts of this process listen. Connections within the machine
// begin at 127.0.0.1, and other processes have other addresses, so nobody can take the port of a host that is down
// for a moment.
var apart = func() string {
	pid := os.Getpid()
	return fmt.Sprintf("127.%d.%d.%d", 64+pid>>16&0x3f, pid>>8&0xff, pid&0xff)
}()

// newCluster finds places for hosts below a directory. The listeners are the doors at which they find each other.
func newCluster(program process.Program, dir string, names []string) (*cluster, []net.Listener, error) {
	places, err := process.Places(program, dir, names)
	if err != nil {
		return nil, nil, err
	}
	var doors []net.Listener
	var list []string
	for _, p := range places {
		door, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, nil, fmt.Errorf("chaos: open a door for host %s: %w", p.Name, err)
		}
		doors = append(doors, door)
		list = append(list, p.Name+"="+door.Addr().String())
	}
	for _, p := range places {
		for _, a := range []*string{&p.Client, &p.Raft, &p.Admin} {
			*a = strings.Replace(*a, "127.0.0.1", apart, 1)
		}
		p.Args = []string{"--name", p.Name, "--host", strings.Join(list, ","), "--shards", "2"}
	}
	n := len(places)
	return &cluster{
		dir: dir, places: places, running: make([]*life, n), claimed: make([]bool, n), errors: make(map[string]int),
		moments: make(map[Moment]int), seen: make(map[string]unfinished),
	}, doors, nil
}

// start starts a host.
func (c *cluster) start(i int, extra ...string) error {
	place := *c.places[i]
	place.Args = slices.Concat(place.Args, c.snapshotArgs(), extra)
	loads := complete(place.Dir) > 0
	h, err := place.Start()
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if loads {
		c.loads++
	}
	l := &life{Host: h}
	c.running[i] = l
	c.lives++
	log := filepath.Join(c.dir, fmt.Sprintf("%03d-%s.log", c.lives, place.Name))
	c.obituaries.Go(func() {
		<-h.Gone()
		c.mu.Lock()
		defer c.mu.Unlock()
		if !l.leaving {
			c.wrong = append(c.wrong, fmt.Sprintf("host %s ended by itself with code %d; its log is in %s", place.Name, h.ExitCode(), log))
		}
		c.gather(h.Errors())
		if err := os.WriteFile(log, []byte(h.Errors()+h.Output()), 0o640); err != nil {
			c.wrong = append(c.wrong, err.Error())
		}
	})
	return nil
}

// snapshotArgs are the arguments for how often hosts save snapshots.
func (c *cluster) snapshotArgs() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.batches == 0 {
		return nil
	}
	return []string{"--raft-snapshot-batches", strconv.Itoa(c.batches)}
}

// snapshotEvery says after how many batches hosts save snapshots that are started from now on.
func (c *cluster) snapshotEvery(batches int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.batches = batches
}

// message is what a host says in a line of its log at the level of errors.
var message = regexp.MustCompile(`level=ERROR msg=("(?:[^"\\]|\\.)*"|\S+)`)

// gather counts the errors in a log. The lock is held.
func (c *cluster) gather(log string) {
	for _, found := range message.FindAllStringSubmatch(log, -1) {
		c.errors[brief(found[1])]++
	}
}

// named is what tells one message of a log from another one of its kind.
var named = regexp.MustCompile(`/\S+/|[0-9A-F]{16}`)

// brief is a message without where it was and what was called.
func brief(message string) string {
	text, _, _ := strings.Cut(message, `\n`)
	return named.ReplaceAllString(strings.Trim(text, `"`), "...")
}

// host returns the process of a host, nil where there is none.
func (c *cluster) host(i int) *life {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.running[i]
}

// pids are those of the hosts, 0 for one that is not there.
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

// leave says that a host's process is about to end, and returns it.
func (c *cluster) leave(i int) *life {
	c.mu.Lock()
	defer c.mu.Unlock()
	l := c.running[i]
	if l != nil {
		l.leaving = true
	}
	return l
}

// stay says that a process that was about to end should go on, if it still does.
func (c *cluster) stay(l *life) {
	c.mu.Lock()
	defer c.mu.Unlock()
	l.leaving = false
}

func (c *cluster) left(i int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.running[i] = nil
}

// kill ends a host without a word, and takes down what that interrupted.
func (c *cluster) kill(i int) {
	h := c.leave(i)
	if h == nil {
		return
	}
	h.Kill()
	c.interrupted(c.momentsOf(i)...)
	c.left(i)
}

// interrupted counts what a kill interrupted.
func (c *cluster) interrupted(list ...Moment) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, m := range list {
		c.moments[m]++
	}
}

// saw takes down that a snapshot is under way.
func (c *cluster) saw(u unfinished) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seen[u.path] = u
}

// idle tells whether a host runs and nobody has claimed it.
func (c *cluster) idle(i int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.running[i] != nil && !c.claimed[i]
}

// stop ends a host in peace. One that does not go, or goes with an error, is wrong, and is killed.
func (c *cluster) stop(i int) {
	h := c.leave(i)
	if h == nil {
		return
	}
	if err := h.Stop(stopPatience); err != nil {
		c.note(err.Error())
		h.Kill()
	}
	c.left(i)
}

// note takes down something that is wrong.
func (c *cluster) note(text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wrong = append(c.wrong, text)
}

// complaints returns what was wrong since it was asked last.
func (c *cluster) complaints() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	wrong := c.wrong
	c.wrong = nil
	return wrong
}

// pause stops a host in its tracks.
func (c *cluster) pause(i int) (resume func()) {
	h := c.host(i)
	if h == nil || h.Signal(syscall.SIGSTOP) != nil {
		return nil
	}
	return func() { _ = h.Signal(syscall.SIGCONT) }
}

// claim takes hosts for one who will change them, all of them or none; free gives them back.
func (c *cluster) claim(hosts ...int) (free func(), ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, i := range hosts {
		if c.claimed[i] {
			return nil, false
		}
	}
	for _, i := range hosts {
		c.claimed[i] = true
	}
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, i := range hosts {
			c.claimed[i] = false
		}
	}, true
}

// leader is the host that leads the most shards, as far as those that answer know; -1 where none does.
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

// awaitReady waits until all hosts that are there serve.
func (c *cluster) awaitReady(within time.Duration) error {
	deadline := time.Now().Add(within)
	var wrong []error
	for i := range c.places {
		if h := c.host(i); h == nil {
			wrong = append(wrong, fmt.Errorf("chaos: host %s is not there", c.places[i].Name))
		} else if err := h.AwaitReady(time.Until(deadline)); err != nil {
			wrong = append(wrong, err)
		}
	}
	return errors.Join(wrong...)
}

// close ends all hosts. What they have on their disks stays if it is to be kept, and until somebody removes the
// directory anyhow where no disk is mounted.
func (c *cluster) close(keep bool) {
	for i := range c.places {
		if h := c.leave(i); h != nil {
			h.Kill()
			c.left(i)
		}
	}
	c.obituaries.Wait()
	if c.disk != nil {
		if keep {
			c.disk.keep(filepath.Join(c.dir, c.places[hosts-1].Name))
		}
		c.disk.unmount()
		c.disk = nil
	}
}
