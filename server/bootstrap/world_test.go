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

// bug is a mistake of the rules that a test plants.
type bug int

const (
	noBug         bug = iota
	bugVolatile       // a promise is forgotten with the process
	bugUnpromised     // a host says that it has promised itself to each that asks
	bugHasty          // the decider does not wait for all
	bugSwitch         // a promise is given again to another decider
	bugAdopt          // a host takes itself for an initial member by its name
)

// errCrash is the error of a write in which the process has died.
var errCrash = errors.New("the process has died")

// disk is the directory of a host. It outlives processes.
type disk struct {
	world *world
	id    identity.Identity
}

// process is a host that runs. Its record is its disk, until it dies.
type process struct {
	*Initializer
	world    *world
	name     string
	disk     *disk
	promise  hosts.Incarnation // with bugVolatile, what is not on the disk
	dead     bool
	round    int
	answers  map[string]Answer
	left     *ExcludedError
	crash    int // the write before or after which it dies, counted down; zero: none
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

// write is a durable change. The process may die before it or after it.
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

// bootstrapped is a host that has written down of which cluster it is.
type bootstrapped struct {
	name        string
	incarnation hosts.Incarnation
	bootstrap   identity.Bootstrap
}

// message is on its way: an ask, or the answer to one.
type message struct {
	from   *process
	round  int // of the one that asked
	to     string
	ask    Ask
	answer *Answer
}

// world is some machines with a host each, and all that is on its way between them.
type world struct {
	*rand.Rand
	bug        bug
	plan       Plan
	drawn      byte
	bootstraps []bootstrapped
	disks      map[string]*disk    // of each name, but for those that were wiped
	running    map[string]*process // at the address of each name
	zombies    []*process          // those that were replaced and still run
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

// wipe gives a host an empty directory, in which it draws its incarnation.
func (w *world) wipe(name string) {
	w.disks[name] = &disk{w, identity.Identity{HostName: name, Incarnation: w.draw()}}
}

// start starts a process on the directory of a host. The one before is killed.
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

// begin sends what a process asks in a round.
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

// deliver delivers what is on its way, whatever has become of the one that sent it.
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
			to = z // its machine has the address for a moment
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

// conclude ends the round of a process, and begins the next one.
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

// rest lets everything arrive, in the order in which it was sent, until nothing changes any more.
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

// check returns what must never be: two clusters with an initial member in common, a host in a cluster that has not its
// incarnation among the initial members, a cluster that is made while a directory of another one is there, or one
// incarnation in two directories.
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

// all are the processes at the addresses, in the order of the plan.
func (w *world) all() (list []*process) {
	for _, h := range w.plan.Hosts {
		if p := w.running[h.Name]; p != nil {
			list = append(list, p)
		}
	}
	return list
}
