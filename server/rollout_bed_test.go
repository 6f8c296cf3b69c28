package server_test

import (
	"testing"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/field"
	kind "github.com/signalbox/signalbox/protocol/rollout"
	"github.com/signalbox/signalbox/server/servertest"
)

// rolloutBed is a cluster with a node for the rollout "dns", in virtual time.
type rolloutBed struct {
	t    *testing.T
	c    *servertest.Cluster
	s    *speaker // an operator, at the data shard's leader
	node uint64
}

var dns = []byte("dns")

// playRollouts runs a test with a cluster that supports rollouts.
func playRollouts(t *testing.T, play func(t *testing.T, b *rolloutBed), options ...servertest.Option) {
	t.Helper()
	risen(t, func(t *testing.T, c *servertest.Cluster) {
		time.Sleep(time.Second) // for the shards to rise too
		node := nodeAt(t, c, "/prod")
		play(t, &rolloutBed{t: t, c: c, s: speak(t, c, c.Leader(1)), node: node})
	}, options...)
}

// locations creates a spec with locations and delays.
func locations(names []string, delays ...time.Duration) (s kind.Spec) {
	for i, name := range names {
		l := kind.Location{Name: name}
		if i < len(delays) {
			l.Delay = delays[i]
		}
		s.Locations = append(s.Locations, l)
	}
	return s
}

// put creates the rollout, and returns its spec revision.
func (b *rolloutBed) put(spec kind.Spec) uint64 {
	b.t.Helper()
	return b.s.must(b.s.ask(&protocol.RolloutPut{NodeID: b.node, Name: dns,
		Put: kind.Put{Spec: spec}})).RolloutPut.Revision
}

// publish publishes a version, and returns its seq.
func (b *rolloutBed) publish(payload string) uint64 {
	b.t.Helper()
	return b.s.must(b.s.ask(&protocol.RolloutPublish{
		NodeID: b.node, Name: dns,
		Publication: kind.Publication{Payload: []byte(payload), Label: "label of " + payload},
	})).RolloutPublish.Seq
}

// act carries out an operator's act.
func (b *rolloutBed) act(verb kind.ActionKind, seq uint64) {
	b.t.Helper()
	b.s.must(b.s.ask(&protocol.RolloutAction{NodeID: b.node, Name: dns, Action: kind.Action{Kind: verb, Seq: seq}}))
}

// describe describes a part.
func (b *rolloutBed) describe(part string) *protocol.RolloutDescribeAnswer {
	b.t.Helper()
	a := b.s.must(b.s.ask(&protocol.RolloutDescribe{SectionRequest: protocol.SectionRequest{
		NodeID: b.node, Name: dns, Section: []byte(part), Explain: true, Consistency: protocol.ConsistencyStrict,
	}})).RolloutDescribe
	return &a
}

// head decodes the head of a part into a record.
func (b *rolloutBed) head(part string, into field.Value) {
	b.t.Helper()
	d := b.describe(part)
	readRecord(b.t, d.Head, into)
}

func readRecord(t *testing.T, body []byte, into field.Value) {
	t.Helper()
	if err := protocol.ReadRecord(body, into, 0); err != nil {
		t.Fatal(err)
	}
}

// target returns the seq of a location's target.
func (b *rolloutBed) target(location string) uint64 {
	b.t.Helper()
	var target protocol.RolloutTarget
	b.head("location/"+location, &target)
	return target.Seq
}

// member is a session that takes part in the rollout.
type member struct {
	*started
	b *rolloutBed
}

// session starts a session over a new connection to the leader.
func (b *rolloutBed) session(timeout time.Duration) *member {
	b.t.Helper()
	return &member{speak(b.t, b.c, b.c.Leader(1)).session("/prod", timeout), b}
}

// join creates a session that has joined as a leader.
func (b *rolloutBed) join(instance, location string) *member {
	b.t.Helper()
	m := b.session(10 * time.Minute)
	m.must(&protocol.RolloutJoin{
		Mutation: m.mutation(), NodeID: b.node, Name: dns, Instance: kind.Instance{Name: instance, Location: location},
	})
	m.must(&protocol.RolloutReady{Mutation: m.mutation(), NodeID: b.node, Name: dns, Leader: true})
	return m
}

// must sends a request that must succeed over the member's connection.
func (m *member) must(request protocol.RequestMessage) *protocol.Answer {
	m.b.t.Helper()
	return m.s.must(m.s.ask(request))
}

// ask reports and asks for the target.
func (m *member) ask(report protocol.InstanceReport) protocol.RolloutPollAnswer {
	m.b.t.Helper()
	return m.must(&protocol.RolloutPoll{
		Mutation: m.mutation(), NodeID: m.b.node, Name: dns, Report: report,
	}).RolloutPoll
}

// reach asks for the target and reports it as reached.
func (m *member) reach() protocol.RolloutTarget {
	m.b.t.Helper()
	target := m.ask(protocol.InstanceReport{}).Target
	m.must(&protocol.RolloutReport{
		Mutation: m.mutation(), NodeID: m.b.node, Name: dns,
		Report: protocol.InstanceReport{Current: target.Seq, Generation: target.Generation},
	})
	return target
}

// watch opens a watch on a view, and returns its id after the first snapshot.
func (b *rolloutBed) watch(s *speaker, view string, since uint64) uint64 {
	b.t.Helper()
	id := s.say(&protocol.Watch{
		NodeID: b.node, Name: dns, ObjectKind: protocol.ObjectRollout, View: []byte(view), Since: since,
	})
	got := s.must(s.await(id, protocol.KindWatch.Answer())).Watch
	want(b.t, "what is watched", got.ObjectKind, protocol.ObjectRollout)
	return id
}

// partOf asks for an object as a whole.
func partOf(node uint64, name []byte) protocol.SectionRequest {
	return protocol.SectionRequest{NodeID: node, Name: name}
}

// listOf requests the objects of the first shard.
func listOf(node uint64) protocol.ListRequest { return protocol.ListRequest{NodeID: node, ShardID: 1} }
