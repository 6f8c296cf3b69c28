package birth

import (
	"fmt"
	"strings"
	"sync"

	"github.com/signalbox/signalbox/server/identity"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/hosts"
)

// Record is what a host must not forget of its birth. Each change is durable when the method returns; one that has
// failed may have been made. *identity.Directory implements it.
type Record interface {
	Identity() identity.Identity
	// Promise binds the incarnation to a decider.
	Promise(decider hosts.Incarnation) error
	// Redraw draws another incarnation, which is bound to none.
	Redraw() error
	// Bear makes the host one of the founders.
	Bear(identity.Birth) error
}

// Candidate is a host that waits to be born with others. Its methods may be called by many goroutines at once.
type Candidate struct {
	plan Plan
	name string

	mu     sync.Mutex
	record Record                       // guarded by mu
	known  map[string]hosts.Incarnation // who has asked, by name; guarded by mu
}

// NewCandidate returns the host of that name, which is in the plan and in no cluster.
func NewCandidate(plan Plan, name string, record Record) *Candidate {
	return &Candidate{plan: plan, name: name, record: record, known: make(map[string]hosts.Incarnation)}
}

// left is why a host is left out of a cluster.
type left int

const (
	leftStranger left = iota // no founder had its name
	leftWiped                // a founder had its name, in another directory
	leftCopied               // it is a founder, and has forgotten that it promised
)

// Without is the error of a host that finds a cluster which was born without it.
type Without struct {
	// Host is who has said so, and Raft its address.
	Host, Raft string
	Cluster    string
	// Name is the name of the host that is left out.
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
		"other settings of this host, and without --host", w.Host, w.Cluster, why, command)
}

// Hear answers another host. A promise is durable by then. It reports whether the asker was not known by that
// incarnation.
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

// refusal returns why the host does not want to be born with one that asks, empty where it does.
func (c *Candidate) refusal(ask *Ask) string {
	switch {
	case ask.Incarnation == (hosts.Incarnation{}):
		return "it has no incarnation"
	case ask.Name == c.name:
		return "it has the name of the host that it asks, " + c.name
	}
	if difference := c.plan.compare(&ask.Plan); difference != "" {
		return "all hosts must be given the same --host, --cluster and --shards: " + difference
	}
	if !c.plan.has(ask.Name) {
		return "it is not in the list of hosts: " + ask.Name
	}
	return ""
}

// Ask returns what the host asks others.
func (c *Candidate) Ask() Ask {
	c.mu.Lock()
	defer c.mu.Unlock()
	return Ask{Name: c.name, Incarnation: c.record.Identity().Incarnation, Plan: c.plan}
}

// Conclude takes the step that the answers of the others allow, by their names: those that did not answer are missing.
// It returns whether the host is born. An error is a *Without, or of the directory; neither goes away by itself.
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

// joined makes the host one of those that were born, where an answer says that it is a founder.
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

// complete reports whether all others have answered that they are in no cluster, and that they want to be in this one.
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

// founders are all hosts of the plan, as they have answered.
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

// Awaited says what keeps the host from being born, in words for an operator: who has not answered, and why as far as
// that is known, and who refuses.
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
