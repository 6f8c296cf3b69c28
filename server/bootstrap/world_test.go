package bootstrap

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/signalbox/signalbox/server/identity"
	"github.com/signalbox/signalbox/shard/hosts"
)

// bug is a planted bug in the rules.
type bug int

const (
	noBug         bug = iota
	bugVolatile       // a promise is forgotten with the process
	bugUnpromised     // a host claims to have promised itself to every asker
	bugHasty          // the decider does not wait for all
	bugSwitch         // a promise is given again to a different decider
	bugAdopt          // a host considers itself an initial member because of its name
)

// errCrash: the process died in a write.
var errCrash = errors.New("the process has died")

// disk is a host's directory. It outlives processes.
type disk struct {
	world *world
	id    identity.Identity
}

// process is a running host. Its record is its disk, until it dies.
type process struct {
	*Initializer
	world    *world
	name     string
	disk     *disk
	promise  hosts.Incarnation // with bugVolatile, state not on the disk
	dead     bool
	round    int
	answers  map[string]Answer
	left     *ExcludedError
	crash    int // write before or after which it dies, counted down; 0 for none
	mayCrash bool
}

// Identity implements Record.
func (p *process) Identity() identity.Identity {
	id := p.disk.id
	if p.world.bug == bugVolatile && !id.Bootstrapped() {
		id.Promise = p.promise
	}
	return id
}

// write is a durable change. The process may die before or after it.
func (p *process) write(change func(*identity.Identity)) error {
	if p.dies() {
		return errCrash
	}
	change(&p.disk.id)
	if p.dies() {
		return errCrash
	}
	return nil
}

func (p *process) dies() bool {
	p.crash--
	p.dead = p.dead || p.mayCrash && p.crash == 0
	return p.dead
}

// Promise implements Record.
func (p *process) Promise(to hosts.Incarnation) error {
	if p.world.bug == bugVolatile {
		p.promise = to
		return nil
	}
	return p.write(func(id *identity.Identity) { id.Promise = to })
}

// Redraw implements Record.
func (p *process) Redraw() error {
	p.promise = hosts.Incarnation{}
	return p.write(func(id *identity.Identity) { id.Incarnation, id.Promise = p.world.draw(), hosts.Incarnation{} })
}

// Bootstrap implements Record.
func (p *process) Bootstrap(b identity.Bootstrap) error {
	return p.write(func(id *identity.Identity) {
		self := b.InitialMember(p.name)
		id.HostID, id.Bootstrap = self.ID, b
		p.world.bootstraps = append(p.world.bootstraps, bootstrapped{p.name, id.Incarnation, b})
	})
}

// bootstrapped is a host that has recorded its cluster.
type bootstrapped struct {
	name        string
	incarnation hosts.Incarnation
	bootstrap   identity.Bootstrap
}

// message is a message in flight: an ask, or its answer.
type message struct {
	from   *process
	round  int // the asker's round
	to     string
	ask    Ask
	answer *Answer
}

// world is several machines with a host each, and all messages in flight between them.
type world struct {
	*rand.Rand
	bug        bug
	plan       Plan
	drawn      byte
	bootstraps []bootstrapped
	disks      map[string]*disk    // by name, without wiped ones
	running    map[string]*process // by address name
	zombies    []*process          // replaced, but still running
	flying     []message
}

func newWorld(r *rand.Rand, names ...string) *world {
	w := &world{Rand: r, plan: planOf(names...), disks: make(map[string]*disk),
		running: make(map[string]*process)}
	for _, name := range names {
		w.wipe(name)
	}
	return w
}

func planOf(names ...string) Plan {
	p := Plan{Shards: 1}
	for _, name := range names {
		p.Hosts = append(p.Hosts, InitialHost{name, name + ":7421"})
	}
	return p
}

func (w *world) draw() hosts.Incarnation {
	w.drawn++
	return hosts.Incarnation{w.drawn}
}

// wipe gives a host an empty directory with a new incarnation.
func (w *world) wipe(name string) {
	w.disks[name] = &disk{w, identity.Identity{HostName: name, Incarnation: w.draw()}}
}

// start starts a process on a host's directory, after killing the previous one.
func (w *world) start(name string) *process {
	if before := w.running[name]; before != nil {
		before.dead = true
	}
	p := &process{world: w, name: name, disk: w.disks[name]}
	p.Initializer = NewInitializer(w.plan, name, p)
	w.running[name] = p
	w.begin(p)
	return p
}

// begin sends a process's asks for a round.
func (w *world) begin(p *process) {
	if p.disk.id.Bootstrapped() || p.left != nil {
		return
	}
	p.round++
	p.answers = make(map[string]Answer)
	ask := p.Ask()
	for _, h := range ask.Plan.Hosts {
		if h.Name != p.name {
			w.flying = append(w.flying, message{from: p, round: p.round, to: h.Name, ask: ask})
		}
	}
}

// deliver delivers a message in flight, whatever happened to its sender.
func (w *world) deliver(i int) {
	m := w.flying[i]
	w.flying = slices.Delete(w.flying, i, i+1)
	if m.answer != nil {
		if !m.from.dead && m.from.round == m.round {
			m.from.answers[m.to] = *m.answer
		}
		return
	}
	to := w.running[m.to]
	for _, z := range w.zombies {
		if z.name == m.to && !z.dead && w.IntN(4) == 0 {
			to = z // its machine temporarily has the address
		}
	}
	if to == nil || to.dead {
		return
	}
	if w.bug == bugSwitch && m.ask.Name == w.plan.decider() && !to.disk.id.Bootstrapped() {
		to.disk.id.Promise = hosts.Incarnation{}
	}
	answer, _ := to.HandleAsk(m.ask)
	if to.dead {
		return
	}
	if w.bug == bugUnpromised && answer.Bootstrap == nil {
		answer.Promise = m.ask.Incarnation
	}
	w.flying = append(w.flying, message{from: m.from, round: m.round, to: m.to, answer: &answer})
}

// conclude ends a process's round, and starts the next one.
func (w *world) conclude(p *process) error {
	if p.dead || p.disk.id.Bootstrapped() || p.left != nil {
		return nil
	}
	if w.bug == bugHasty && p.name == w.plan.decider() {
		for _, h := range w.plan.Hosts[1:] {
			if _, ok := p.answers[h.Name]; !ok {
				p.answers[h.Name] = Answer{Name: h.Name, Incarnation: w.draw(), Promise: p.disk.id.Incarnation}
			}
		}
	}
	if w.bug == bugAdopt {
		for name, a := range p.answers {
			if a.Bootstrap != nil && a.Bootstrap.InitialMember(p.name) != nil {
				p.disk.id.Incarnation = a.Bootstrap.InitialMember(p.name).Incarnation
				p.disk.id.Promise = a.Bootstrap.InitialMembers[0].Incarnation
				p.answers[name] = a
			}
		}
	}
	_, err := p.Conclude(p.answers)
	if without, ok := errors.AsType[*ExcludedError](err); ok {
		p.left, err = without, nil
	}
	if err != nil && !p.dead {
		return fmt.Errorf("host %s: %w", p.name, err)
	}
	if !p.dead {
		w.begin(p)
	}
	return nil
}

// rest delivers all messages in send order, until nothing changes any more.
func (w *world) rest() error {
	for range 30 {
		for len(w.flying) > 0 {
			w.deliver(0)
		}
		for _, h := range w.plan.Hosts {
			if p := w.running[h.Name]; p != nil {
				if err := w.conclude(p); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// check returns violations: two clusters with a common initial member, a host in a cluster without its incarnation
// among the initial members, a cluster created while a directory of another cluster exists, or one incarnation in two
// directories.
func (w *world) check() error {
	clusters := make(map[hosts.Incarnation]string)
	for _, b := range w.bootstraps {
		self := b.bootstrap.InitialMember(b.name)
		if self == nil || self.Incarnation != b.incarnation {
			return fmt.Errorf("%s, incarnation %s, is in a cluster of %+v", b.name, b.incarnation,
				b.bootstrap.InitialMembers)
		}
		for _, f := range b.bootstrap.InitialMembers {
			if other, known := clusters[f.Incarnation]; known && other != b.bootstrap.Cluster {
				return fmt.Errorf("%s, incarnation %s, is an initial member of two clusters", f.Name, f.Incarnation)
			}
			clusters[f.Incarnation] = b.bootstrap.Cluster
		}
	}
	cluster := ""
	for _, d := range w.disks {
		if cluster != "" && d.id.Bootstrapped() && d.id.Cluster != cluster {
			return fmt.Errorf("cluster %s was made beside %s, of which a directory is left", cluster, d.id.Cluster)
		}
		cluster = cmp.Or(d.id.Cluster, cluster)
	}
	made := make(map[hosts.Incarnation]*disk)
	for _, p := range append(slices.Clone(w.zombies), w.all()...) {
		if other := made[p.disk.id.Incarnation]; other != nil && other != p.disk {
			return fmt.Errorf("two directories have incarnation %s", p.disk.id.Incarnation)
		}
		made[p.disk.id.Incarnation] = p.disk
	}
	return nil
}

// all are the processes at the addresses, in plan order.
func (w *world) all() (list []*process) {
	for _, h := range w.plan.Hosts {
		if p := w.running[h.Name]; p != nil {
			list = append(list, p)
		}
	}
	return list
}
