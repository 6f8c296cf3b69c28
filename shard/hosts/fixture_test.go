package hosts

import (
	"bytes"
	"strings"
	"testing"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/shard"
)

// fixture is records in a test.
type fixture struct {
	*testing.T
	*Records
	now uint64
}

func addresses(name string) Addresses { return Addresses{Raft: name + ":7402", Client: name + ":7401"} }

func incarnation(n byte) Incarnation { return Incarnation{n} }

// newFixture returns records with the named hosts, with ids from 1, matching incarnations, votes in the meta shard and
// in shard 1, at start 1.
func newFixture(t *testing.T, names ...string) *fixture {
	t.Helper()
	f := &fixture{T: t, Records: New("c", []ShardID{1}), now: 1000}
	var initialMembers []InitialMember
	for i, name := range names {
		initialMembers = append(initialMembers, InitialMember{ID: shard.HostID(i + 1), Name: name,
			Incarnation: incarnation(byte(i + 1)), Addresses: addresses(name), Version: "1.4.0", Level: level.Newest})
	}
	f.done(f.Bootstrap(f.at(), initialMembers))
	for i, name := range names {
		f.done(f.Boot(f.at(), bootOf(shard.HostID(i+1), name, 1)))
		f.reach(name)
	}
	return f
}

func bootOf(id shard.HostID, name string, number uint64) Boot {
	return Boot{Host: id, Incarnation: incarnation(byte(id)), Start: start(number), Addresses: addresses(name),
		Version: "1.4.0", Level: level.Newest}
}

// start is the start with a number and its default draw.
func start(number uint64) Start { return Start{Number: number, Draw: 100 + number} }

func joinOf(name string, n byte) Join {
	return Join{Cluster: "c", Name: name, Incarnation: incarnation(n), Addresses: addresses(name), Version: "1.4.1",
		Level: level.Newest, Trusted: true}
}

func (f *fixture) at() At {
	return At{Now: f.now, Term: 7, Wall: 1e12, Level: level.Newest, By: "op", Why: "a test"}
}

// done checks that a command succeeded and changed something.
func (f *fixture) done(a Answer) {
	f.Helper()
	if a.Status != protocol.StatusSuccess || a.Existed {
		f.Fatalf("%s, existed %t: %s", a.Status, a.Existed, a.Text)
	}
}

// existed checks that a command found the wanted state already.
func (f *fixture) existed(a Answer) {
	f.Helper()
	if a.Status != protocol.StatusSuccess || !a.Existed {
		f.Fatalf("%s, existed %t: %s", a.Status, a.Existed, a.Text)
	}
}

// refused checks that a command is refused, with the given words in its text, and changes nothing.
func (f *fixture) refused(status protocol.Status, words string, command func() Answer) {
	f.Helper()
	before := f.Save(nil)
	a := command()
	if a.Status != status || !strings.Contains(a.Text, words) {
		f.Errorf("%s: %q; want %s with %q", a.Status, a.Text, status, words)
	}
	if !bytes.Equal(before, f.Save(nil)) {
		f.Errorf("%s: %q, and yet something changed", a.Status, a.Text)
	}
}

// reach brings a host to its target state.
func (f *fixture) reach(name string) {
	f.Helper()
	h, _ := f.find(name)
	f.done(f.Reach(f.at(), 7, h.ID, h.Target.Variant, h.Target.Epoch))
}

// known puts a membership on record.
func (f *fixture) known(id ShardID, change uint64, voters, learners []uint64) Answer {
	var list []Member
	for _, r := range voters {
		list = append(list, Member{Replica: r, Role: RoleVoter})
	}
	for _, r := range learners {
		list = append(list, Member{Replica: r, Role: RoleLearner})
	}
	return f.Known(f.at(), 7, id, change, list)
}
