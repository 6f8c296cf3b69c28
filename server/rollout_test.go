package server_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox/signalbox/protocol"
	kind "github.com/signalbox/signalbox/protocol/rollout"
	"github.com/signalbox/signalbox/server/servertest"
)

// TestAVersionReachesOneLocationAfterTheOther is the documented example: SAS at once, MAN 5 s after SAS, VLA 5 s after
// MAN.
func TestAVersionReachesOneLocationAfterTheOther(t *testing.T) {
	playRollouts(t, func(t *testing.T, b *rolloutBed) {
		b.put(locations([]string{"sas", "man", "vla"}, 0, 5*time.Second, 5*time.Second))
		members := []*member{b.join("a.sas", "sas"), b.join("a.man", "man"), b.join("a.vla", "vla")}
		first := b.publish("one")
		for i, m := range members {
			began := time.Now()
			for b.target([]string{"sas", "man", "vla"}[i]) != first {
				time.Sleep(100 * time.Millisecond)
			}
			if took := time.Since(began); i > 0 && (took < 5*time.Second || took > 7*time.Second) {
				t.Fatalf("location %d has its target after %v", i, took)
			}
			target := m.reach()
			want(t, "seq", target.Seq, first)
			want(t, "payload", string(target.Payload), "one")
			want(t, "label", string(target.Label), "label of one")
		}
		want(t, "phase", b.describe("").Phase, kind.Idle)
	})
}

// TestARolloutIsReadInParts: each part has its expected head and rows.
func TestARolloutIsReadInParts(t *testing.T) {
	playRollouts(t, func(t *testing.T, b *rolloutBed) {
		spec := locations([]string{"sas", "man"}, 0, time.Hour)
		spec.Versions, spec.AskInterval = kind.Asked, time.Minute
		revision := b.put(spec)
		a, second := b.join("a.sas", "sas"), b.join("b.sas", "sas")
		a.ask(protocol.InstanceReport{})
		source := b.session(time.Minute)
		id := source.must(&protocol.RolloutSource{
			Mutation: source.mutation(), NodeID: b.node, Name: dns, SourceRole: kind.SourceRole{Name: "yp"},
		}).RolloutSource.SourceID
		var ticket kind.Ticket
		b.head("source", &ticket)
		want(t, "who is asked", ticket.Source, id)
		seq := source.must(&protocol.RolloutOffer{
			Mutation: source.mutation(), NodeID: b.node, Name: dns,
			Offering: kind.Offering{Ticket: ticket.Number, Payload: []byte("made"), Author: "yp"},
		}).RolloutOffer.Seq
		a.reach()
		b.act(kind.Pause, 0)

		whole := b.describe("")
		want(t, "phase", whole.Phase, kind.Paused)
		var head kind.State
		readRecord(t, whole.Head, &head)
		want(t, "revision of the spec", head.SpecRevision, revision)
		want(t, "the defaults of re-election", head.Spec.Reelect.After, time.Minute)
		want(t, "versions that are kept", head.Spec.KeepVersions, 64)
		want(t, "the last act", head.LastAct.Kind, kind.Pause)
		want(t, "sources", len(head.Sources), 1)
		var names []string
		for row := range whole.Rows.All() {
			if row.ID&3 == 0 {
				var l kind.LocationRow
				readRecord(t, row.Body, &l)
				names = append(names,
					fmt.Sprintf("%d %s %d/%d", l.Place, l.Name, l.Reached, l.Leaders))
				continue
			}
			var v kind.Version
			readRecord(t, row.Body, &v)
			names = append(names, fmt.Sprintf("%d %s %d", v.Seq, v.By.Author, v.PayloadBytes))
		}
		want(t, "rows", strings.Join(names, ", "), "0 sas 1/2, 1 yp 4, 1 man 0/0")

		var reasons []string
		for r := range whole.Reasons.All(0) {
			reasons = append(reasons, r.Code+": "+r.Text)
		}
		want(t, "reasons", strings.Join(reasons, "\n"), "paused: paused\nleaders: sas waits for 1 of 2 leaders: "+
			"b.sas (has not heard of generation 1)")

		instances := b.describe("instances/sas")
		var counts kind.Counts
		readRecord(t, instances.Head, &counts)
		want(t, "counts", counts, kind.Counts{Instances: 2, Leaders: 2, Reached: 1})
		var sessions []uint64
		for row := range instances.Rows.All() {
			var i kind.InstanceState
			readRecord(t, row.Body, &i)
			sessions = append(sessions, i.SessionID)
		}
		want(t, "sessions", fmt.Sprint(sessions), fmt.Sprint([]uint64{a.id, second.id}))

		var version kind.Version
		b.head(fmt.Sprintf("version/%d", seq), &version)
		want(t, "payload", string(version.Payload), "made")
		for row := range b.describe("history/sas").Rows.All() {
			var target kind.Row
			readRecord(t, row.Body, &target)
			want(t, "the id of a row of the history", row.ID, target.Generation)
			want(t, "cause", target.Cause, kind.CauseInitial)
			if target.Assigned.Wall.IsZero() {
				t.Error("the target has no wall clock")
			}
		}
		var acts []string
		for row := range b.describe("actions").Rows.All() {
			var act kind.ActionRecord
			readRecord(t, row.Body, &act)
			acts = append(acts, fmt.Sprint(row.ID, act.Kind))
		}
		want(t, "actions", strings.Join(acts, ", "), "1 create, 2 pause")
		for _, part := range []string{"history/vla", "version/77", "version/x", "location/", "elsewhere"} {
			got := b.s.ask(&protocol.RolloutDescribe{SectionRequest: protocol.SectionRequest{
				NodeID: b.node, Name: dns, Section: []byte(part),
			}}).Result
			want(t, part, got.Status, protocol.StatusNotFound)
		}
	})
}

// TestPagesOfARolloutGoOnWhereTheLastOneEnded: head and reasons stand on the first page alone.
func TestPagesOfARolloutGoOnWhereTheLastOneEnded(t *testing.T) {
	playRollouts(t, func(t *testing.T, b *rolloutBed) {
		b.put(locations([]string{"sas"}))
		for i := range 5 {
			b.join(fmt.Sprintf("i%d", i), "sas")
			b.publish(fmt.Sprint(i))
		}
		for range 3 {
			b.act(kind.Abort, 0)
			b.act(kind.Retry, 0)
		}
		for part, rows := range map[string]int{"instances/sas": 5, "": 6, "actions": 7, "history/sas": 4} {
			seen, last, pages := 0, uint64(0), 0
			for after, more := uint64(0), true; more; pages++ {
				page := b.s.must(b.s.ask(&protocol.RolloutDescribe{SectionRequest: protocol.SectionRequest{
					NodeID: b.node, Name: dns, Section: []byte(part), After: after, Limit: 2, Explain: true,
					Consistency: protocol.ConsistencyStrict,
				}})).RolloutDescribe
				if after > 0 && (len(page.Head) > 0 || page.Reasons.Len() > 0) {
					t.Errorf("%q: page %d has a head, or reasons", part, pages)
				}
				for row := range page.Rows.All() {
					if row.ID <= last {
						t.Errorf("%q: row %d comes behind %d", part, row.ID, last)
					}
					last = row.ID
					seen++
				}
				after, more = page.Next, page.Next != 0
			}
			want(t, fmt.Sprintf("rows of %q", part), seen, rows)
			want(t, fmt.Sprintf("pages of %q", part), pages, (rows+1)/2)
		}
	})
}

func TestRolloutsOfANodeAreListed(t *testing.T) {
	playRollouts(t, func(t *testing.T, b *rolloutBed) {
		for i := range 5 {
			b.s.must(b.s.ask(&protocol.RolloutPut{
				NodeID: b.node, Name: name("r%d", i), Put: kind.Put{Spec: locations([]string{"sas", "man"})},
			}))
		}
		b.s.must(b.s.ask(&protocol.SemaphoreCreate{NodeID: b.node, Name: []byte("r2a"), Limit: 1}))
		b.s.must(b.s.ask(&protocol.RolloutPublish{
			NodeID: b.node, Name: []byte("r3"), Publication: kind.Publication{Label: "the newest"},
		}))
		var all []string
		for after, more := []byte(nil), true; more; {
			page := b.s.must(b.s.ask(&protocol.RolloutList{ListRequest: protocol.ListRequest{
				NodeID: b.node, ShardID: 1, Prefix: []byte("r"), After: after, Limit: 2,
				Consistency: protocol.ConsistencyStrict,
			}})).RolloutList
			for r := range page.Rollouts.All(0) {
				all = append(all, fmt.Sprintf("%s %v %d %d %s", r.Name, r.Phase, r.Locations, r.LastSeq, r.Label))
			}
			after = append([]byte(nil), page.Next...)
			more = len(after) > 0
		}
		want(t, "rollouts", strings.Join(all, "\n"), "r0 idle 2 0 \nr1 idle 2 0 \nr2 idle 2 0 \n"+
			"r3 blocked 2 1 the newest\nr4 idle 2 0 ")
		want(t, "no shard", b.s.ask(&protocol.RolloutList{ListRequest: protocol.ListRequest{
			NodeID: b.node, ShardID: 9,
		}}).Result.Status,
			protocol.StatusNotFound)
	})
}

// TestAPlanSaysWhoWouldGetWhatWhen: and changes nothing.
func TestAPlanSaysWhoWouldGetWhatWhen(t *testing.T) {
	playRollouts(t, func(t *testing.T, b *rolloutBed) {
		b.put(locations([]string{"sas", "man"}, 0, 5*time.Second))
		b.join("a.sas", "sas")
		b.join("a.man", "man")
		plan := func(p *protocol.RolloutPlan) string {
			t.Helper()
			p.NodeID, p.Name, p.TakesMillis = b.node, dns, 1000
			p.Consistency = protocol.ConsistencyStrict
			a := b.s.must(b.s.ask(p)).RolloutPlan
			var steps []string
			for s := range a.Steps.All(a.NowMillis) {
				steps = append(steps, fmt.Sprintf("%s %d %v %v", s.Location, s.Seq, s.Cause, s.After))
			}
			return strings.Join(steps, ", ")
		}
		before := b.describe("").Revision
		want(t, "nothing", plan(&protocol.RolloutPlan{}), "")
		want(t, "a version", plan(&protocol.RolloutPlan{Publish: true}), "sas 1 initial 0s, man 1 initial 6.001s")
		paused := kind.Action{Kind: kind.Pause}
		want(t, "a version while paused", plan(&protocol.RolloutPlan{Publish: true, Action: paused}), "")
		want(t, "revision", b.describe("").Revision, before)
		b.publish("one")
		promote := kind.Action{Kind: kind.Promote, Seq: 1}
		want(t, "what an act assigns itself", plan(&protocol.RolloutPlan{Action: promote}), "man 1 promote 0s")
		refused := b.s.ask(&protocol.RolloutPlan{
			NodeID: b.node, Name: dns, Action: kind.Action{Kind: kind.Rollback, Seq: 9},
		}).Result
		want(t, "an act that is refused", refused.Status, protocol.StatusNotFound)
		if !strings.Contains(refused.Message, "9") {
			t.Errorf("the message is %q", refused.Message)
		}
		missing := b.s.ask(&protocol.RolloutPlan{NodeID: b.node, Name: []byte("none")}).Result
		want(t, "a plan of none", missing.Status, protocol.StatusNotFound)
	})
}

// TestADetachedSessionIsAnInstanceUntilItEnds: the location waits for it, and continues without it afterwards.
func TestADetachedSessionIsAnInstanceUntilItEnds(t *testing.T) {
	playRollouts(t, func(t *testing.T, b *rolloutBed) {
		b.put(locations([]string{"sas"}))
		stays := b.join("a.sas", "sas")
		leaves := b.session(30 * time.Second)
		leaves.must(&protocol.RolloutJoin{
			Mutation: leaves.mutation(), NodeID: b.node, Name: dns, Instance: kind.Instance{Name: "b.sas",
				Location: "sas"},
		})
		leaves.must(&protocol.RolloutReady{Mutation: leaves.mutation(), NodeID: b.node, Name: dns, Leader: true})
		b.publish("one")
		stays.reach()
		_ = leaves.s.conn.Close()
		time.Sleep(20 * time.Second)
		second := b.publish("two")
		want(t, "the target while it is detached", b.target("sas"), 1)
		var counts kind.Counts
		b.head("instances/sas", &counts)
		want(t, "instances while it is detached", counts.Instances, 2)
		time.Sleep(30 * time.Second)
		want(t, "the target when it has ended", b.target("sas"), second)
		b.head("instances/sas", &counts)
		want(t, "instances when it has ended", counts.Instances, 1)
	})
}

// TestHoldingsShowWhatASessionIsToARollout: its role, in the kind's words.
func TestHoldingsShowWhatASessionIsToARollout(t *testing.T) {
	playRollouts(t, func(t *testing.T, b *rolloutBed) {
		b.put(locations([]string{"sas"}))
		m := b.join("a.sas", "sas")
		m.acquire("lock", 1, 0, true)
		for h := range m.must(&protocol.SessionHoldings{SessionID: m.id, ShardID: 1}).SessionHoldings.Holdings.All() {
			if h.ObjectKind == protocol.ObjectRollout {
				want(t, "name", string(h.Name), "dns")
				want(t, "role", string(h.Role), "leader")
				return
			}
		}
		t.Error("the session has no rollout")
	})
}

// TestADroppedNodeTakesItsRolloutsAlong: watchers are notified, and nothing remains.
func TestADroppedNodeTakesItsRolloutsAlong(t *testing.T) {
	playRollouts(t, func(t *testing.T, b *rolloutBed) {
		b.put(locations([]string{"sas"}))
		m := b.join("a.sas", "sas")
		watch := b.watch(m.s, "location/sas", 0)
		operator := speak(t, b.c, b.c.Leader(0))
		operator.must(operator.ask(&protocol.NodeDrop{Path: []byte("/prod")}))
		want(t, "why the watch ends", m.s.await(watch, protocol.KindWatchEnd).WatchEnd.Result.Status,
			protocol.StatusNotFound)
		want(t, "why the session ends", m.s.await(0, protocol.KindSessionEnded).SessionEnded.Reason,
			protocol.EndNodeDropped)
		time.Sleep(time.Minute)
		synctest.Wait()
		want(t, "bytes that are left", b.c.Host(b.c.Leader(1)).Usage(1, 0).Bytes, 0)
	}, servertest.Hosts(3))
}
