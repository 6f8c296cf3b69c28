package governor

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/host"
	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/hosts"
	"github.com/signalbox/signalbox/shard/plan"
)

// scene is a cluster at rest. A test changes something and asks for the governor's actions.
type scene struct {
	*testing.T
	View
}

// newScene has hosts with these names that vote in the meta shard and in shard 1, all reachable and up to date. The
// first leads the meta shard, the second shard 1. A name may have a domain: "a dc=x".
func newScene(t *testing.T, names ...string) *scene {
	t.Helper()
	return newSceneOf(t, []hosts.ShardID{1}, names...)
}

// newSceneOf is newScene with the given data shards.
func newSceneOf(t *testing.T, shards []hosts.ShardID, names ...string) *scene {
	t.Helper()
	s := &scene{T: t, View: View{State: hosts.New("c", shards), Plan: plan.New(Config()), Now: 1_000_000,
		Seen: &Seen{Self: 1, Began: 500_000}}}
	var initialMembers []hosts.InitialMember
	for i, name := range names {
		name, _, _ = strings.Cut(name, " ")
		initialMembers = append(initialMembers, hosts.InitialMember{ID: shard.HostID(i + 1), Name: name,
			Incarnation: hosts.Incarnation{byte(i + 1)}, Addresses: addressesOf(name), Level: level.Newest})
	}
	s.State.Bootstrap(hosts.At{Now: 1000}, initialMembers)
	for i, name := range names {
		name, domain, _ := strings.Cut(name, " ")
		d, _ := host.ParseDomain(domain)
		s.State.Alter(s.at(), name, d)
		s.Seen.Hosts = append(s.Seen.Hosts, upToDate(shard.HostID(i+1)))
	}
	for _, on := range s.State.Shards() {
		report := ShardSeen{Shard: on.ID, Leader: 1, LedFor: 100_000}
		if on.ID != hosts.Meta {
			report.Leader = min(2, shard.HostID(len(initialMembers)))
		}
		for _, f := range initialMembers {
			report.Replicas = append(report.Replicas, ReplicaSeen{ID: uint64(f.ID), Index: 100})
		}
		s.Seen.Shards = append(s.Seen.Shards, report)
	}
	return s
}

func upToDate(id shard.HostID) HostObservation {
	return HostObservation{Host: id, Tried: true, SilentFor: 100, FreshFor: 100_000, Barrier: 100}
}

func addressesOf(name string) hosts.Addresses {
	return hosts.Addresses{Raft: name + ":1", Client: name + ":2"}
}

func (s *scene) at() hosts.At { return hosts.At{Now: s.Now, Level: level.Newest} }

// done checks that a command succeeded.
func (s *scene) done(a hosts.Answer) {
	s.Helper()
	if a.Status != protocol.StatusSuccess {
		s.Fatalf("%s: %s", a.Status, a.Text)
	}
}

func (s *scene) id(name string) shard.HostID { return s.State.Named(name).ID }

// enter makes a host join without starting it.
func (s *scene) enter(name, domain, replace string) {
	s.Helper()
	d, _ := host.ParseDomain(domain)
	i := hosts.Incarnation{byte(len(s.State.Hosts()) + 1)}
	s.done(s.State.Join(s.at(), hosts.Join{Cluster: "c", Name: name, Incarnation: i, Addresses: addressesOf(name),
		Domain: d, Level: level.Newest, Trusted: true, Replace: replace}))
}

// join lets a host join and boot.
func (s *scene) join(name, domain, replace string) {
	s.Helper()
	s.enter(name, domain, replace)
	s.done(s.State.Boot(s.at(), hosts.Boot{Host: s.id(name), Incarnation: s.State.Named(name).Incarnation,
		Start: hosts.Start{Number: 1}, Addresses: addressesOf(name),
		Level: level.Newest}))
}

// learner makes a host join, with up-to-date replicas.
func (s *scene) learner(name, domain string) {
	s.Helper()
	s.join(name, domain, "")
	id := s.id(name)
	s.done(s.State.Reach(s.at(), 0, id, protocol.HostOnline, 1))
	for _, on := range s.State.Shards() {
		a := Action{Shard: on.ID, Host: id, Replica: s.State.NextReplica(), Change: on.Change}
		model(s.at(), s.State, s.Seen, KindAdd, &a)
	}
	*s.Seen.host(id) = upToDate(id)
}

// dies makes a host silent for the given time; its leaderships move to the given leader.
func (s *scene) dies(name string, silent uint64, leader shard.HostID) {
	s.Seen.host(s.id(name)).SilentFor, s.Seen.host(s.id(name)).FreshFor = silent, 0
	for i := range s.Seen.Shards {
		if s.Seen.Shards[i].Leader == s.id(name) {
			s.Seen.Shards[i].Leader = leader
		}
	}
}

// offline brings a host to the target Offline, by a failure, so many milliseconds ago.
func (s *scene) offline(name string, ago uint64) {
	s.Helper()
	h := s.State.Named(name)
	at := s.at()
	at.Now -= ago
	s.done(s.State.Failed(at, 0, h.ID, h.Target.Epoch, hosts.ReasonSilent, ""))
	s.done(s.State.Reach(at, 0, h.ID, protocol.HostOffline, h.Target.Epoch))
}

// reach brings a host to its target state.
func (s *scene) reach(name string) {
	s.Helper()
	h := s.State.Named(name)
	s.done(s.State.Reach(s.at(), 0, h.ID, h.Target.Variant, h.Target.Epoch))
}

// stops makes a host report that its process stops.
func (s *scene) stops(name string) {
	s.Helper()
	h := s.State.Named(name)
	s.done(s.State.Shutdown(s.at(), h.ID, h.Incarnation, h.Start))
}

// play returns the steps of a dry run, one per line, and the reason codes at its end.
func (s *scene) play() []string {
	s.Helper()
	f := Planner().DryRun(s.View, 100)
	lines := []string{}
	v := s.View
	for i := range f.Steps {
		at := f.Steps[i].At - s.Now
		lines = append(lines, fmt.Sprintf("%d %s: %s", at/1000, f.Steps[i].Rule, describe(v, &f.Steps[i].Proposal)))
	}
	codes := []string{}
	for _, r := range f.Reasons {
		codes = append(codes, string(r.Code))
	}
	slices.Sort(codes)
	if f.Cut {
		lines = append(lines, "and so on")
	}
	if len(codes) > 0 {
		lines = append(lines, "then: "+strings.Join(slices.Compact(codes), " "))
	}
	return lines
}

// reasons returns the next decision's reasons with their times, and its step.
func (s *scene) reasons() (texts []string, step *plan.Proposal[Action]) {
	d := Planner().Next(s.View)
	for _, r := range d.Reasons {
		text := string(r.Code) + ": " + r.Text
		if r.Since != 0 {
			text += fmt.Sprintf("; for %d ms", s.Now-r.Since)
		}
		if r.Until != 0 {
			text += fmt.Sprintf("; until in %d ms", r.Until-s.Now)
		}
		texts = append(texts, text)
	}
	return texts, d.Step
}
