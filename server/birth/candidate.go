package birth

import (
	"fmt"
	"strings"
	"sync"

	"github.com/signalbox/signalbox/server/identity"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/hosts"
)

// Record is the durable memory of a birth. A change is durable when the method returns; a failed change may have been
// made. *identity.Directory implements Record.
type Record interface {
	Identity() identity.Identity
	// Promise binds the incarnation to a decider.
	Promise(decider hosts.Incarnation) error
	// Redraw draws a new incarnation, bound to no decider.
	Redraw() error
	// Bear makes the host a founder.
	Bear(identity.Birth) error
}

// Candidate is a host that waits to be born with other hosts. Many goroutines at once may call the methods.
type Candidate struct {
	plan Plan
	name string

	mu     sync.Mutex
	record Record                       // guarded by mu
	known  map[string]hosts.Incarnation // hosts that have asked, by name; guarded by mu
}

// NewCandidate returns the host with the given name, which is in the plan and in no cluster.
func NewCandidate(plan Plan, name string, record Record) *Candidate {
	return &Candidate{plan: plan, name: name, record: record, known: make(map[string]hosts.Incarnation)}
}

// left is why a host is left out of a cluster.
type left int

const (
	leftStranger left = iota // no founder had the host's name
	leftWiped                // a founder had the host's name, in another directory
	leftCopied               // the host is a founder, and has forgotten its promise
)

// Without is the error of a host that finds a cluster born without the host.
type Without struct {
	// Host is the host that reported the cluster, and Raft its address.
	Host, Raft string
	Cluster    string
	// Name is the name of the excluded host.
	Name string
	why  left
}

// Error implements error.
func (w *Without) Error() string {
	command := "signalbox serve --join " + w.Raft + " --name " + w.Name
	if w.why != leftStranger {
		command += " --replace " + w.Name
	}
	why := map[left]string{
		leftStranger: "which was born without a host of the name " + w.Name,
		leftWiped:    "which was born with another data directory of host " + w.Name,
		leftCopied: "and so is host " + w.Name + ": this data directory is an older copy, from before it promised " +
			"to be " +
			"born with the others",
	}[w.why]
	return fmt.Sprintf("host %s is of cluster %s, %s. A host that may have forgotten what it confirmed is not let in "+
		"again under what it was: put the directory back as it was last, or empty it and join as a new host with "+
		"%s, the "+
		"other settings of this host, and without --initial-hosts", w.Host, w.Cluster, why, command)
}

// Hear answers another host. The promise in the answer is durable. news: the asking host was not known by its
// incarnation before.
func (c *Candidate) Hear(ask Ask) (answer Answer, news bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if id := c.record.Identity(); id.Born() {
		return Member(&id), false
	}
	if why := c.refusal(&ask); why != "" {
		return Answer{Name: c.name, Refusal: why}, false
	}
	if ask.Name == c.plan.decider() && c.record.Identity().Promise == (hosts.Incarnation{}) {
		if err := c.record.Promise(ask.Incarnation); err != nil {
			return Answer{Name: c.name, Refusal: err.Error()}, false
		}
	}
	news = c.known[ask.Name] != ask.Incarnation
	c.known[ask.Name] = ask.Incarnation
	id := c.record.Identity()
	return Answer{Name: c.name, Incarnation: id.Incarnation, Promise: id.Promise}, news
}

// refusal returns why the host does not want to be born with the asking host; empty if the host does.
func (c *Candidate) refusal(ask *Ask) string {
	switch {
	case ask.Incarnation == (hosts.Incarnation{}):
		return "it has no incarnation"
	case ask.Name == c.name:
		return "it has the name of the host that it asks, " + c.name
	}
	if difference := c.plan.compare(&ask.Plan); difference != "" {
		return "all hosts must be given the same --initial-hosts, --cluster-name and --shards: " + difference
	}
	if !c.plan.has(ask.Name) {
		return "it is not in the list of hosts: " + ask.Name
	}
	return ""
}

// Ask returns the host's question for other hosts.
func (c *Candidate) Ask() Ask {
	c.mu.Lock()
	defer c.mu.Unlock()
	return Ask{Name: c.name, Incarnation: c.record.Identity().Incarnation, Plan: c.plan}
}

// Conclude takes the step allowed by the answers of the other hosts, by their names; silent hosts are missing. born
// reports whether the host is born. An error is a *Without, or the directory's; neither goes away by itself.
func (c *Candidate) Conclude(answers map[string]Answer) (born bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	id := c.record.Identity()
	if birth, err := c.joined(&id, answers); birth != nil || err != nil {
		return err == nil, err
	}
	if !c.complete(answers) {
		return false, nil
	}
	decider := id.Incarnation
	if c.name != c.plan.decider() {
		decider = answers[c.plan.decider()].Incarnation
	}
	switch {
	case id.Promise != (hosts.Incarnation{}) && id.Promise != decider:
		return false, c.record.Redraw()
	case c.name != c.plan.decider() || !promised(answers, id.Incarnation):
		return false, nil
	}
	birth := identity.NewBirth(c.plan.Cluster, c.plan.Shards, c.founders(&id, answers))
	return true, c.record.Bear(birth)
}

// joined makes the host a founder, if an answer lists the host among the founders.
func (c *Candidate) joined(id *identity.Identity, answers map[string]Answer) (*identity.Birth, error) {
	var without error
	for _, p := range c.plan.Hosts {
		birth := answers[p.Name].Birth
		if birth == nil {
			continue
		}
		if err := birth.Check(); err != nil {
			return nil, fmt.Errorf("birth: what host %s says of its cluster cannot be: %w", p.Name, err)
		}
		self := birth.Founder(c.name)
		out := &Without{p.Name, p.Raft, birth.Cluster, c.name, leftStranger}
		switch {
		case self == nil:
		case self.Incarnation != id.Incarnation:
			out.why = leftWiped
		case id.Promise != birth.Founders[0].Incarnation:
			out.why = leftCopied
		default:
			return birth, c.record.Bear(*birth)
		}
		without = out
	}
	return nil, without
}

// complete reports whether all other hosts have answered without a refusal. The caller has looked for hosts of a
// cluster before.
func (c *Candidate) complete(answers map[string]Answer) bool {
	for _, p := range c.plan.Hosts {
		if a, ok := answers[p.Name]; p.Name != c.name && (!ok || a.Refusal != "") {
			return false
		}
	}
	return true
}

// promised reports whether all have promised themselves to an incarnation.
func promised(answers map[string]Answer, to hosts.Incarnation) bool {
	for _, a := range answers {
		if a.Promise != to {
			return false
		}
	}
	return true
}

// founders are all hosts of the plan, with the incarnations from the answers.
func (c *Candidate) founders(id *identity.Identity, answers map[string]Answer) []identity.Founder {
	var all []identity.Founder
	for i, p := range c.plan.Hosts {
		f := identity.Founder{ID: shard.HostID(i + 1), Name: p.Name, Incarnation: id.Incarnation, Raft: p.Raft}
		if p.Name != c.name {
			f.Incarnation = answers[p.Name].Incarnation
		}
		all = append(all, f)
	}
	return all
}

// Awaited says what keeps the host from being born, in words for an operator: the silent hosts, with the cause as far
// as known, and the refusing hosts.
func (c *Candidate) Awaited(answers map[string]Answer, failures map[string]error) string {
	var silent, refusals []string
	for _, p := range c.plan.Hosts {
		a, ok := answers[p.Name]
		switch {
		case p.Name == c.name:
		case !ok && failures[p.Name] == nil:
			silent = append(silent, p.Name+" at "+p.Raft)
		case !ok:
			silent = append(silent, fmt.Sprintf("%s at %s (%v)", p.Name, p.Raft, failures[p.Name]))
		case a.Refusal != "":
			refusals = append(refusals, "host "+p.Name+" refuses this one: "+a.Refusal)
		}
	}
	switch {
	case len(silent) > 0:
		return strings.Join(append([]string{"it waits for " + strings.Join(silent, ", ") +
			": a cluster is born when all of its hosts have answered"}, refusals...), "; ")
	case len(refusals) > 0:
		return strings.Join(refusals, "; ")
	}
	return "all hosts have answered, and host " + c.plan.decider() + " decides"
}
