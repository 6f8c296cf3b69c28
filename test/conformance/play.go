package conformance

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// play is one script with one driver. The lock guards all fields except constant ones.
type play struct {
	script  *Script
	slack   time.Duration // a loaded machine's allowance on upper bounds
	verbose bool
	began   time.Time
	readers sync.WaitGroup // of the driver

	mu      sync.Mutex
	changed chan struct{} // closed and replaced whenever something happens
	record  []string

	hosts       []*host
	leaders     []uint64 // leading hosts by shard; 0 is the meta shard
	places      places
	connections int
	inFlight    int
	announced   map[uint64]bool // request kinds in the second block
	model       *model
	must        invariants
	requests    []*request
	faults      []*fault

	driver   *driver
	commands map[string]*command
	events   []*event

	named   map[string]*request
	moments map[string]time.Time
	since   time.Time // last mark

	broken []string // rules broken by the client
	wrong  error    // script error
	over   bool
}

// startPatience is how long a driver may take until the hello.
const startPatience = time.Minute

// newPlay opens a script's hosts.
func newPlay(script *Script, o Options) (*play, error) {
	copied := *script // a step may change the token
	p := &play{
		script: &copied, slack: o.Slack, verbose: o.Verbose, began: time.Now(), changed: make(chan struct{}),
		places: places{version: 1, shards: uint64(max(1, script.Shards))}, inFlight: cmp.Or(script.InFlight, 1000),
		announced: make(map[uint64]bool), model: newModel(), must: newInvariants(),
		commands: make(map[string]*command), named: make(map[string]*request), moments: make(map[string]time.Time),
	}
	for _, name := range script.Kinds {
		p.announced[theSchema().byName[name].Kind] = true
	}
	for id := range max(1, script.Hosts) {
		if err := p.listen(uint64(id + 1)); err != nil {
			p.close()
			return nil, err
		}
	}
	p.leaders = append(p.leaders, 1)
	for shard := range max(1, script.Shards) {
		p.leaders = append(p.leaders, uint64(shard%len(p.hosts)+1))
	}
	return p, nil
}

// run plays the script to a driver. skipped names an ability missing in the driver. starting has room for the drivers
// that may start in parallel: interpreters and virtual machines need the whole processor at a start, and would delay
// scripts in progress.
func (p *play) run(args []string, starting chan struct{}) (skipped string, err error) {
	defer p.close()
	starting <- struct{}{}
	if err := p.launch(args); err != nil {
		<-starting
		return "", err
	}
	defer p.readers.Wait()
	defer p.driver.end()
	p.mu.Lock()
	defer p.mu.Unlock()
	d := p.driver
	p.awaitLocked(time.Now().Add(startPatience), func() bool { return d.hello != nil || d.ended })
	<-starting
	if p.began = time.Now(); d.hello == nil {
		return "", fmt.Errorf("the driver does not say hello: %s", lastLines(d.process.Errors()))
	}
	if skipped = d.lacks(p.script.Needs); skipped != "" {
		return skipped, nil
	}
	for i := range p.script.Steps {
		s := &p.script.Steps[i]
		p.note("step %d: %s", i+1, show(s))
		err := p.perform(s)
		if p.wrong != nil {
			err = p.wrong
		}
		if len(p.broken) > 0 {
			err = fmt.Errorf("the client breaks a rule: %s", p.broken[0])
		}
		if err != nil {
			return "", fmt.Errorf("step %d, %s: %w", i+1, strings.Join(s.actions(), " "), err)
		}
	}
	return "", nil
}

func (p *play) close() {
	p.locked(func() {
		p.over = true
		for _, h := range p.hosts {
			_ = h.listener.Close()
			for c := range h.conns {
				c.close("the script is over")
			}
		}
	})
}

// locked calls f under the lock.
func (p *play) locked(f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f()
}

// wake lets the waiting step look again. The lock is held, here and below.
func (p *play) wake() {
	close(p.changed)
	p.changed = make(chan struct{})
}

// awaitLocked waits until a condition holds, and reports whether the condition holds. The lock is given up
// meanwhile. A broken rule ends the wait.
func (p *play) awaitLocked(until time.Time, is func() bool) bool {
	timer := time.NewTimer(time.Until(until))
	defer timer.Stop()
	for {
		if is() {
			return true
		}
		if len(p.broken) > 0 || p.wrong != nil {
			return false
		}
		changed := p.changed
		p.mu.Unlock()
		late := false
		select {
		case <-changed:
		case <-timer.C:
			late = true
		}
		p.mu.Lock()
		if late {
			return is()
		}
	}
}

// note adds a line to the record, for people after a failure.
func (p *play) note(format string, args ...any) {
	p.record = append(p.record, fmt.Sprintf("%7.3f  ", time.Since(p.began).Seconds())+fmt.Sprintf(format, args...))
}

// violate notes a rule broken by the client.
func (p *play) violate(format string, args ...any) {
	if p.over {
		return
	}
	text := fmt.Sprintf(format, args...)
	p.note("broken: %s", text)
	p.broken = append(p.broken, text)
	p.wake()
}

// fail records that the script cannot be played.
func (p *play) fail(err error) {
	if p.wrong == nil {
		p.wrong = err
		p.wake()
	}
}

// remember gives a request a name. A later request takes the name over.
func (p *play) remember(name string, r *request) { p.named[name] = r }

// detach detaches sessions from hosts that do not lead the home shard, like hosts after losing a shard.
func (m *model) detach(p *play) {
	for _, s := range m.sessions {
		c := s.attached
		if c != nil && p.leaders[p.shardOf(s.id>>52)] != c.host.id {
			s.attached = nil
		}
	}
}

// lastLines are a text's last lines.
func lastLines(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(slices.Clip(lines[max(0, len(lines)-10):]), "\n")
}
