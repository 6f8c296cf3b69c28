package machine_test

import (
	"bytes"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/clock"
	"github.com/signalbox/signalbox/shard/machine"
	"github.com/signalbox/signalbox/test/twin"
)

// The conformance tests are stories about sessions s1, s2, ... and semaphores in one coordination node. Each runs
// twice: with the machine and with its naive twin.
//
//	m.acquire("s2", "sem", count(2), timeout(60)).want("SUCCESS queued order=2")
//
// In every story, the scene checks each command against the invariants; see scene.mustHold.

// homeNode is the default coordination node of commands.
const homeNode shard.NodeID = 1

type stateMachine interface {
	Apply(b *shard.Batch, out *shard.Effects)
	State() shard.State
}

// scene is one machine with the story's named sessions.
type scene struct {
	*testing.T
	machine  stateMachine
	slots    shard.SlotSet
	sessions map[string]shard.SessionID
	numbers  map[shard.SessionID]uint64 // last used number
	watches  *shard.WatchSet[uint64]
	watchers []string // by token
	passed   uint64   // milliseconds since the last command
}

// play runs a story in a shard that serves all slots.
func play(t *testing.T, story func(m *scene)) {
	t.Helper()
	playServing(t, shard.EverySlot(), story)
}

// playServing runs a story in a shard that serves the given slots.
func playServing(t *testing.T, slots shard.SlotSet, story func(m *scene)) {
	t.Helper()
	o := machine.Options{Shard: 1, Slots: slots, Bounds: machine.Bounds{
		Work: shard.MaxWork, SessionLinks: shard.MaxLinksPerSession, AnswerBytes: shard.MaxAnswerBytes,
	}}
	for _, subject := range []struct {
		name    string
		machine stateMachine
	}{{"machine", machine.New(machine.TestKinds, o)}, {"twin", twin.New(o)}} {
		t.Run(subject.name, func(t *testing.T) {
			story(newScene(t, subject.machine, slots))
		})
	}
}

func newScene(t *testing.T, machine stateMachine, slots shard.SlotSet) *scene {
	return &scene{
		T:        t,
		machine:  machine,
		slots:    slots,
		sessions: make(map[string]shard.SessionID),
		numbers:  make(map[shard.SessionID]uint64),
		watches:  shard.NewWatchSet[uint64](),
	}
}

// outcome is the effects of one command.
type outcome struct {
	m       *scene
	command shard.Command
	effects []shard.Effect
	fired   []string
}

// do applies one command.
func (sc *scene) do(c shard.Command) outcome {
	sc.Helper()
	var effects shard.Effects
	before := sc.machine.State()
	b := shard.Batch{Commands: []shard.Command{c}}
	b.Stamp = clock.Stamp{Term: before.Term, Elapsed: before.Now - before.TimeBase + sc.passed} // stamp of the leader
	if c.Kind == shard.CmdLead {
		b.Stamp = clock.Stamp{Term: c.Term}
	}
	sc.machine.Apply(&b, &effects)
	o := outcome{m: sc, command: c, effects: effects.List}
	after := sc.machine.State()
	sc.mustHold(o, &before, &after)
	sc.watches.Apply(o.effects, func(token uint64, data, owners bool) {
		line := sc.watchers[token]
		if data {
			line += " data"
		}
		if owners {
			line += " owners"
		}
		o.fired = append(o.fired, line)
	})
	slices.Sort(o.fired)
	return o
}

// mustHold checks the invariants after every command, so that stories need not: the state is sound, revisions and
// Changed effects match, a refused command changes nothing, and effects carry their links' numbers and order ids.
func (sc *scene) mustHold(o outcome, before, after *shard.State) {
	sc.Helper()
	if err := twin.Check(*after, sc.slots); err != nil {
		sc.Errorf("after %s: %v", twin.CommandText(&o.command), err)
	}
	if err := twin.CheckChange(before, after, o.effects); err != nil {
		sc.Errorf("after %s: %v", twin.CommandText(&o.command), err)
	}
	results := 0
	for i := range o.effects {
		e := &o.effects[i]
		want := shard.Effect{Kind: e.Kind, Flags: e.Flags, Node: e.Node, Name: e.Name, Session: e.Session}
		switch e.Kind {
		case shard.EffectResult:
			results++
			sc.resultMustHold(o, e, before, after)
			continue
		case shard.EffectChanged:
			want.Object, want.Revision = shard.KindSemaphore, e.Revision
		case shard.EffectSessionEnded:
			want.End = e.End
		case shard.EffectSessionSeen, shard.EffectNodeSeen:
		default:
			// The effect is about an existing link: with its previous number and order id.
			l := linkIn(before, e.Node, e.Name, e.Session)
			if l == nil {
				sc.Errorf("%s: there was no such link", twin.EffectText(e))
				continue
			}
			want.Number, want.Order, want.Abort = l.Number, l.Order, e.Abort
		}
		if *e != want {
			sc.Errorf("effect is\n%s, not\n%s", twin.EffectText(e), twin.EffectText(&want))
		}
	}
	if results != 1 {
		sc.Errorf("%s: %d results", twin.CommandText(&o.command), results)
	}
}

func (sc *scene) resultMustHold(o outcome, e *shard.Effect, before, after *shard.State) {
	sc.Helper()
	want := shard.Effect{Kind: e.Kind, Status: e.Status, Flags: e.Flags, Order: e.Order}
	if e.Status == protocol.StatusAborted {
		want.Abort = e.Abort
	}
	if e.Status == protocol.StatusSuccess {
		switch o.command.Kind {
		case shard.CmdSessionCreate:
			want.Session = after.Sessions[slices.IndexFunc(after.Sessions, func(s shard.SessionState) bool {
				return s.ID.Counter() == before.LastSession+1
			})].ID
		case shard.CmdAcquire:
			sem := semaphoreIn(after, o.command.Node, string(o.command.Name))
			if sem != nil && !sem.Ephemeral && e.Limit != 0 { // a cached answer has none
				want.Limit = sem.Limit
			}
		case twin.CmdExchange:
			want.Revision, want.Body = e.Revision, e.Body
		case shard.CmdSemaphoreCreate, shard.CmdSemaphoreUpdate:
			want.Revision = e.Revision
			if sem := semaphoreIn(after, o.command.Node, string(o.command.Name)); sem != nil && len(o.effects) > 1 {
				want.Revision = sem.Revision // executed, not repeated
			}
		}
	}
	if *e != want {
		sc.Errorf("result is\n%s, not\n%s", twin.EffectText(e), twin.EffectText(&want))
	}
	if e.Status == protocol.StatusSuccess {
		return
	}
	was, is := withoutRecords(before), withoutRecords(after)
	if !slices.ContainsFunc(o.effects, func(e shard.Effect) bool { return e.Kind == shard.EffectSessionSeen }) &&
		!reflect.DeepEqual(was, is) {
		sc.Errorf("%s was refused with %v and changed something\n%s", twin.CommandText(&o.command), e.Status,
			twin.Difference(twin.StateText(&is), twin.StateText(&was)))
	}
}

// withoutRecords omits state that even a refused command may change: numbers, slots and answers.
func withoutRecords(state *shard.State) shard.State {
	s := *state
	s.Sessions = slices.Clone(s.Sessions)
	for i := range s.Sessions {
		s.Sessions[i].Applied, s.Sessions[i].Acked, s.Sessions[i].Answers, s.Sessions[i].Slots = 0, 0, nil, nil
	}
	return s
}

func linkIn(state *shard.State, node shard.NodeID, name string, session shard.SessionID) *shard.LinkState {
	sem := semaphoreIn(state, node, name)
	if sem == nil {
		return nil
	}
	for i := range sem.Links {
		if sem.Links[i].Session == session {
			return &sem.Links[i]
		}
	}
	return nil
}

// semaphoreRef names a semaphore.
func semaphoreRef(node shard.NodeID, name string) shard.Ref {
	return shard.Ref{Kind: shard.KindSemaphore, Node: node, Name: name}
}

func semaphoreIn(state *shard.State, node shard.NodeID, name string) *shard.SemaphoreState {
	for i := range state.Semaphores {
		if sem := &state.Semaphores[i]; sem.Node == node && sem.Name == name {
			return sem
		}
	}
	return nil
}

// want compares the command's effects with the lines, in order. See outcome.lines.
func (o outcome) want(lines ...string) outcome {
	o.m.Helper()
	if got := o.lines(); !slices.Equal(got, lines) {
		o.m.Fatalf("%s\ngot:\n\t%s\nwant:\n\t%s", twin.CommandText(&o.command),
			strings.Join(got, "\n\t"), strings.Join(lines, "\n\t"))
	}
	return o
}

// wantFired compares the fired watches with the lines: "s1 data owners".
func (o outcome) wantFired(lines ...string) {
	o.m.Helper()
	if !slices.Equal(o.fired, lines) {
		o.m.Fatalf("%s fired %q, not %q", twin.CommandText(&o.command), o.fired, lines)
	}
}

// restart continues with a machine restored from a snapshot, under a new leader. The twin is not saved; it only gets
// the new leader.
func (sc *scene) restart() {
	sc.Helper()
	sc.lead(sc.machine.State().Term + 1).want("SUCCESS")
	saved, ok := sc.machine.(*machine.Machine)
	if !ok {
		return
	}
	snapshot, err := saved.PrepareSnapshot()
	if err != nil {
		sc.Fatal(err)
	}
	defer snapshot.Discard()
	var file bytes.Buffer
	if err := snapshot.Save(&file, nil); err != nil {
		sc.Fatal(err)
	}
	restored := machine.New(machine.TestKinds, machine.Options{Slots: sc.slots})
	if err := restored.Restore(&file); err != nil {
		sc.Fatal(err)
	}
	sc.machine = restored
}

// semaphore returns the current semaphore, nil if missing.
func (sc *scene) semaphore(name string) *shard.SemaphoreState {
	state := sc.machine.State()
	return semaphoreIn(&state, homeNode, name)
}

// sessionState returns the current session, nil if missing.
func (sc *scene) sessionState(session string) *shard.SessionState {
	for _, s := range sc.machine.State().Sessions {
		if s.ID == sc.id(session) {
			return &s
		}
	}
	return nil
}

// link returns the session's link to the semaphore, which must exist.
func (sc *scene) link(session, name string) shard.LinkState {
	sc.Helper()
	state := sc.machine.State()
	l := linkIn(&state, homeNode, name, sc.id(session))
	if l == nil {
		sc.Fatalf("%s has no part in %q", session, name)
	}
	return *l
}

// wantLinks compares owners and waiters, each with its count: "s1*2 s2*1 | s3*all", or "none" if the semaphore does not
// exist.
func (sc *scene) wantLinks(name, want string) {
	sc.Helper()
	got := "none"
	if sem := sc.semaphore(name); sem != nil {
		var owners, waiters []string
		for _, l := range sem.Links {
			entry := sc.alias(l.Session) + "*" + countText(l.Count)
			if l.Owner {
				owners = append(owners, entry)
			} else {
				waiters = append(waiters, entry)
			}
		}
		got = strings.Join(append(append(owners, "|"), waiters...), " ")
	}
	if got != want {
		sc.Fatalf("links of %q are %q, not %q", name, got, want)
	}
}

// wantData compares the semaphore's data.
func (sc *scene) wantData(name, want string) {
	sc.Helper()
	sem := sc.semaphore(name)
	if sem == nil {
		sc.Fatalf("no semaphore %q", name)
	}
	if sem.Data != want {
		sc.Fatalf("data of %q is %q, not %q", name, sem.Data, want)
	}
}
