package server_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/servertest"
)

// TestAVersionReachesOneLocationAfterTheOther is the example of the document: SAS at once, MAN 5 s after SAS, VLA 5 s
// after MAN.
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
		want(t, "phase", b.describe("").Phase, protocol.PhaseIdle)
	})
}

// TestARolloutIsReadInParts: each part has the head and the rows that it should have.
func TestARolloutIsReadInParts(t *testing.T) {
	playRollouts(t, func(t *testing.T, b *rolloutBed) {
		spec := locations([]string{"sas", "man"}, 0, time.Hour)
		spec.Versions, spec.AskMillis = protocol.VersionsAsked, 60_000
		revision := b.put(spec)
		a, second := b.join("a.sas", "sas"), b.join("b.sas", "sas")
		a.ask(protocol.InstanceReport{})
		source := b.session(time.Minute)
		id := source.must(&protocol.RolloutSource{
			Mutation: source.mutation(), NodeID: b.node, Name: dns, Source: []byte("yp"),
		}).RolloutSource.SourceID
		var ticket protocol.SourceTicket
		b.head("source", &ticket)
		want(t, "who is asked", ticket.SourceID, id)
		seq := source.must(&protocol.RolloutOffer{
			Mutation: source.mutation(), NodeID: b.node, Name: dns, Ticket: ticket.Ticket, Payload: []byte("made"),
			Author: []byte("yp"),
		}).RolloutOffer.Seq
		a.reach()
		b.act(protocol.VerbPause, 0)

		whole := b.describe("")
		want(t, "phase", whole.Phase, protocol.PhasePaused)
		var head protocol.RolloutHead
		readRecord(t, whole.Head, &head)
		want(t, "revision of the spec", head.SpecRevision, revision)
		want(t, "the defaults of re-election", head.Spec.Reelect.AfterMillis, 60_000)
		want(t, "versions that are kept", head.Spec.KeepVersions, 64)
		want(t, "the last act", head.LastAct.Act.Verb, protocol.VerbPause)
		want(t, "sources", head.Sources.Len(), 1)
		var names []string
		for row := range whole.Rows.All() {
			if row.ID&3 == 0 {
				var l protocol.RolloutLocation
				readRecord(t, row.Body, &l)
				names = append(names,
					fmt.Sprintf("%d %s %d/%d", l.Place, l.Spec.Name, l.Counts.Reached, l.Counts.Leaders))
				continue
			}
			var v protocol.RolloutVersion
			readRecord(t, row.Body, &v)
			names = append(names, fmt.Sprintf("%d %s %d", v.Seq, v.Author, v.PayloadBytes))
		}
		want(t, "rows", strings.Join(names, ", "), "0 sas 1/2, 1 yp 4, 1 man 0/0")

		var reasons []string
		for r := range whole.Reasons.All() {
			reasons = append(reasons, string(r.Code)+": "+string(r.Text))
		}
		want(t, "reasons", strings.Join(reasons, "\n"), "paused: paused\nleaders: sas waits for 1 of 2 leaders: "+
			"b.sas (has not heard of generation 1)")

		instances := b.describe("instances/sas")
		var counts protocol.InstanceCounts
		readRecord(t, instances.Head, &counts)
		want(t, "counts", counts, protocol.InstanceCounts{Instances: 2, Leaders: 2, Reached: 1})
		var sessions []uint64
		for row := range instances.Rows.All() {
			var i protocol.RolloutInstance
			readRecord(t, row.Body, &i)
			sessions = append(sessions, i.SessionID)
		}
		want(t, "sessions", fmt.Sprint(sessions), fmt.Sprint([]uint64{a.id, second.id}))

		var version protocol.RolloutVersion
		b.head(fmt.Sprintf("version/%d", seq), &version)
		want(t, "payload", string(version.Payload), "made")
		for row := range b.describe("history/sas").Rows.All() {
			var target protocol.TargetRow
			readRecord(t, row.Body, &target)
			want(t, "the id of a row of the history", row.ID, target.Generation)
			want(t, "cause", target.Cause, protocol.CauseBirth)
			if target.AssignedWallMillis == 0 {
				t.Error("the target has no wall clock")
			}
		}
		var acts []string
		for row := range b.describe("acts").Rows.All() {
			var act protocol.RolloutActRow
			readRecord(t, row.Body, &act)
			acts = append(acts, fmt.Sprint(row.ID, act.Act.Verb))
		}
		want(t, "acts", strings.Join(acts, ", "), "1 CREATE, 2 PAUSE")
		for _, part := range []string{"history/vla", "version/77", "version/x", "location/", "elsewhere"} {
			got := b.s.ask(&protocol.RolloutDescribe{NodeID: b.node, Name: dns, Part: []byte(part)}).Result
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
			b.act(protocol.VerbAbort, 0)
			b.act(protocol.VerbRetry, 0)
		}
		for part, rows := range map[string]int{"instances/sas": 5, "": 6, "acts": 7, "history/sas": 4} {
			seen, last, pages := 0, uint64(0), 0
			for after, more := uint64(0), true; more; pages++ {
				page := b.s.must(b.s.ask(&protocol.RolloutDescribe{
					NodeID: b.node, Name: dns, Part: []byte(part), After: after, Limit: 2, Why: true,
					Consistency: protocol.ConsistencyStrict,
				})).RolloutDescribe
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
				NodeID: b.node, Name: name("r%d", i), Spec: locations([]string{"sas", "man"}),
			}))
		}
		b.s.must(b.s.ask(&protocol.SemaphoreCreate{NodeID: b.node, Name: []byte("r2a"), Limit: 1}))
		b.s.must(b.s.ask(&protocol.RolloutPublish{
			NodeID: b.node, Name: []byte("r3"), Label: []byte("the newest"),
		}))
		var all []string
		for after, more := []byte(nil), true; more; {
			page := b.s.must(b.s.ask(&protocol.RolloutList{
				NodeID: b.node, ShardID: 1, Prefix: []byte("r"), After: after, Limit: 2,
				Consistency: protocol.ConsistencyStrict,
			})).RolloutList
			for r := range page.Rollouts.All() {
				all = append(all, fmt.Sprintf("%s %v %d %d %s", r.Name, r.Phase, r.Locations, r.LastSeq, r.Label))
			}
			after = append([]byte(nil), page.Next...)
			more = len(after) > 0
		}
		want(t, "rollouts", strings.Join(all, "\n"), "r0 IDLE 2 0 \nr1 IDLE 2 0 \nr2 IDLE 2 0 \n"+
			"r3 BLOCKED 2 1 the newest\nr4 IDLE 2 0 ")
		want(t, "no shard", b.s.ask(&protocol.RolloutList{NodeID: b.node, ShardID: 9}).Result.Status,
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
			for s := range a.Steps.All() {
				steps = append(steps, fmt.Sprintf("%s %d %v %d", s.Location, s.Seq, s.Cause, s.AtMillis-a.NowMillis))
			}
			return strings.Join(steps, ", ")
		}
		before := b.describe("").Revision
		want(t, "nothing", plan(&protocol.RolloutPlan{}), "")
		want(t, "a version", plan(&protocol.RolloutPlan{Publish: true}), "sas 1 BIRTH 0, man 1 BIRTH 6001")
		paused := protocol.Act{Verb: protocol.VerbPause}
		want(t, "a version while paused", plan(&protocol.RolloutPlan{Publish: true, Act: paused}), "")
		want(t, "revision", b.describe("").Revision, before)
		b.publish("one")
		promote := protocol.Act{Verb: protocol.VerbPromote, Seq: 1}
		want(t, "what an act assigns itself", plan(&protocol.RolloutPlan{Act: promote}), "man 1 PROMOTE 0")
		refused := b.s.ask(&protocol.RolloutPlan{
			NodeID: b.node, Name: dns, Act: protocol.Act{Verb: protocol.VerbRollback, Seq: 9},
		}).Result
		want(t, "an act that is refused", refused.Status, protocol.StatusNotFound)
		if !strings.Contains(refused.Message, "9") {
			t.Errorf("the message is %q", refused.Message)
		}
		missing := b.s.ask(&protocol.RolloutPlan{NodeID: b.node, Name: []byte("none")}).Result
		want(t, "a plan of none", missing.Status, protocol.StatusNotFound)
	})
}

// TestADetachedSessionIsAnInstanceUntilItEnds: so the location waits for it, and goes on without it then.
func TestADetachedSessionIsAnInstanceUntilItEnds(t *testing.T) {
	playRollouts(t, func(t *testing.T, b *rolloutBed) {
		b.put(locations([]string{"sas"}))
		stays := b.join("a.sas", "sas")
		leaves := b.session(30 * time.Second)
		leaves.must(&protocol.RolloutJoin{
			Mutation: leaves.mutation(), NodeID: b.node, Name: dns, Instance: []byte("b.sas"), Location: []byte("sas"),
		})
		leaves.must(&protocol.RolloutRole{Mutation: leaves.mutation(), NodeID: b.node, Name: dns, Leader: true})
		b.publish("one")
		stays.reach()
		_ = leaves.s.conn.Close()
		time.Sleep(20 * time.Second)
		second := b.publish("two")
		want(t, "the target while it is detached", b.target("sas"), 1)
		var counts protocol.InstanceCounts
		b.head("instances/sas", &counts)
		want(t, "instances while it is detached", counts.Instances, 2)
		time.Sleep(30 * time.Second)
		want(t, "the target when it has ended", b.target("sas"), second)
		b.head("instances/sas", &counts)
		want(t, "instances when it has ended", counts.Instances, 1)
	})
}

// TestHoldingsShowWhatASessionIsToARollout: a word of the kind.
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

// TestADroppedNodeTakesItsRolloutsAlong: those who watch hear of it, and nothing of them is left.
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
