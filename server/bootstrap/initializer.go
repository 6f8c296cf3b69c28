package bootstrap

import (
	"fmt"
	"strings"
	"sync"

	"github.com/signalbox/signalbox/server/identity"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/hosts"
)

// Record is a bootstrap's durable state. A change is durable when the method returns; a failed change may also have
// been made. *identity.Directory implements Record.
type Record interface {
	Identity() identity.Identity
	// Promise binds the incarnation to a decider.
	Promise(decider hosts.Incarnation) error
	// Redraw draws a new incarnation without a promise.
	Redraw() error
	// Bootstrap makes the host an initial member.
	Bootstrap(identity.Bootstrap) error
}

// Initializer is a host that waits to bootstrap with other hosts. Its methods are safe for concurrent use.
type Initializer struct {
	plan Plan
	name string

	mu     sync.Mutex
	record Record                       // guarded by mu
	known  map[string]hosts.Incarnation // hosts that have asked, by name; guarded by mu
}

// NewInitializer returns an Initializer for the named host, which must be in the plan and in no cluster.
func NewInitializer(plan Plan, name string, record Record) *Initializer {
	return &Initializer{plan: plan, name: name, record: record, known: make(map[string]hosts.Incarnation)}
}

// exclusion is the reason why a host is not in the cluster.
type exclusion int

const (
	excludedName  exclusion = iota // no initial member has the host's name
	excludedWiped                  // an initial member has the host's name, but another directory
	excludedCopy                   // the host is an initial member, but has lost its promise
)

// ExcludedError reports that a cluster was bootstrapped without the host.
type ExcludedError struct {
	// Host is the host that reported the cluster, and Raft its address.
	Host, Raft string
	Cluster    string
	// Name is the excluded host's name.
	Name string
	why  exclusion
}

// Error implements error.
func (e *ExcludedError) Error() string {
	command := "signalbox serve --join " + e.Raft + " --name " + e.Name
	if e.why != excludedName {
		command += " --replace " + e.Name
	}
	why := map[exclusion]string{
		excludedName:  "which was bootstrapped without a host with the name " + e.Name,
		excludedWiped: "which was bootstrapped with another data directory of host " + e.Name,
		excludedCopy: "and so is host " + e.Name + ": the data directory is an older copy, from before the host " +
			"agreed to bootstrap with the other hosts",
	}[e.why]
	return fmt.Sprintf("host %s is in cluster %s, %s. A host that may have lost confirmed entries cannot "+
		"continue under its old identity: restore the latest data directory, or empty it and join as a new host "+
		"with %s, the other settings of the host, and without --initial-hosts", e.Host, e.Cluster, why, command)
}

// HandleAsk answers another host. The promise in the answer is durable. news reports whether the asking host's
// incarnation was unknown before.
func (in *Initializer) HandleAsk(ask Ask) (answer Answer, news bool) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if id := in.record.Identity(); id.Bootstrapped() {
		return member(&id), false
	}
	if why := in.refusal(&ask); why != "" {
		return Answer{Name: in.name, Refusal: why}, false
	}
	if ask.Name == in.plan.decider() && in.record.Identity().Promise == (hosts.Incarnation{}) {
		if err := in.record.Promise(ask.Incarnation); err != nil {
			return Answer{Name: in.name, Refusal: err.Error()}, false
		}
	}
	news = in.known[ask.Name] != ask.Incarnation
	in.known[ask.Name] = ask.Incarnation
	id := in.record.Identity()
	return Answer{Name: in.name, Incarnation: id.Incarnation, Promise: id.Promise}, news
}

// refusal returns the reason for refusing to bootstrap with the asking host, or an empty string.
func (in *Initializer) refusal(ask *Ask) string {
	switch {
	case ask.Incarnation == (hosts.Incarnation{}):
		return "the host has no incarnation"
	case ask.Name == in.name:
		return "the host has the same name as the asked host, " + in.name
	}
	if difference := in.plan.compare(&ask.Plan); difference != "" {
		return "--initial-hosts, --cluster-name, --shards and --access-file must be equal on all hosts: " +
			difference
	}
	if !in.plan.has(ask.Name) {
		return "the host is not in the list of initial hosts: " + ask.Name
	}
	return ""
}

// Ask returns the question that the host sends to other hosts.
func (in *Initializer) Ask() Ask {
	in.mu.Lock()
	defer in.mu.Unlock()
	return Ask{Name: in.name, Incarnation: in.record.Identity().Incarnation, Plan: in.plan}
}

// Conclude takes the step the other hosts' answers allow. answers is keyed by host name; silent hosts are missing.
// bootstrapped reports whether the host is bootstrapped. An error is an *ExcludedError or a directory error; both are
// permanent.
func (in *Initializer) Conclude(answers map[string]Answer) (bootstrapped bool, err error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	id := in.record.Identity()
	if bootstrap, err := in.joined(&id, answers); bootstrap != nil || err != nil {
		return err == nil, err
	}
	if !in.complete(answers) {
		return false, nil
	}
	decider := id.Incarnation
	if in.name != in.plan.decider() {
		decider = answers[in.plan.decider()].Incarnation
	}
	switch {
	case id.Promise != (hosts.Incarnation{}) && id.Promise != decider:
		return false, in.record.Redraw()
	case in.name != in.plan.decider() || !promised(answers, id.Incarnation):
		return false, nil
	}
	bootstrap := identity.NewBootstrap(in.plan.Cluster, in.plan.Shards, in.initialMembers(&id, answers))
	bootstrap.Closed = in.plan.Access != ""
	return true, in.record.Bootstrap(bootstrap)
}

// joined makes the host an initial member if an answer lists the host's incarnation among the initial members.
func (in *Initializer) joined(id *identity.Identity, answers map[string]Answer) (*identity.Bootstrap, error) {
	var without error
	for _, p := range in.plan.Hosts {
		bootstrap := answers[p.Name].Bootstrap
		if bootstrap == nil {
			continue
		}
		if err := bootstrap.Check(); err != nil {
			return nil, fmt.Errorf("bootstrap: host %s reports an invalid cluster: %w", p.Name, err)
		}
		self := bootstrap.InitialMember(in.name)
		out := &ExcludedError{p.Name, p.Raft, bootstrap.Cluster, in.name, excludedName}
		switch {
		case self == nil:
		case self.Incarnation != id.Incarnation:
			out.why = excludedWiped
		case id.Promise != bootstrap.InitialMembers[0].Incarnation:
			out.why = excludedCopy
		default:
			return bootstrap, in.record.Bootstrap(*bootstrap)
		}
		without = out
	}
	return nil, without
}

// complete reports whether all other hosts have answered without a refusal. The caller has already checked for hosts
// in a cluster.
func (in *Initializer) complete(answers map[string]Answer) bool {
	for _, p := range in.plan.Hosts {
		if a, ok := answers[p.Name]; p.Name != in.name && (!ok || a.Refusal != "") {
			return false
		}
	}
	return true
}

// promised reports whether all hosts have promised themselves to an incarnation.
func promised(answers map[string]Answer, to hosts.Incarnation) bool {
	for _, a := range answers {
		if a.Promise != to {
			return false
		}
	}
	return true
}

// initialMembers returns all hosts in the plan, with the incarnations from their answers.
func (in *Initializer) initialMembers(id *identity.Identity, answers map[string]Answer) []identity.InitialMember {
	var all []identity.InitialMember
	for i, p := range in.plan.Hosts {
		f := identity.InitialMember{ID: shard.HostID(i + 1), Name: p.Name, Incarnation: id.Incarnation, Raft: p.Raft}
		if p.Name != in.name {
			f.Incarnation = answers[p.Name].Incarnation
		}
		all = append(all, f)
	}
	return all
}

// Awaited explains to operators why the host is not bootstrapped yet: silent hosts with the cause if known, and
// refusing hosts.
func (in *Initializer) Awaited(answers map[string]Answer, failures map[string]error) string {
	var silent, refusals []string
	for _, p := range in.plan.Hosts {
		a, ok := answers[p.Name]
		switch {
		case p.Name == in.name:
		case !ok && failures[p.Name] == nil:
			silent = append(silent, p.Name+" at "+p.Raft)
		case !ok:
			silent = append(silent, fmt.Sprintf("%s at %s (%v)", p.Name, p.Raft, failures[p.Name]))
		case a.Refusal != "":
			refusals = append(refusals, "host "+p.Name+" refuses this host: "+a.Refusal)
		}
	}
	switch {
	case len(silent) > 0:
		return strings.Join(append([]string{"waiting for " + strings.Join(silent, ", ") +
			": a cluster bootstraps when all initial hosts have answered"}, refusals...), "; ")
	case len(refusals) > 0:
		return strings.Join(refusals, "; ")
	}
	return "all hosts have answered, and host " + in.plan.decider() + " decides"
}
