package machine_test

import (
	"fmt"
	"slices"
	"strings"

	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/machine"
)

// goldenVerb is a command without a proposal: a read, or a host's or client's action around a machine. It returns its
// output.
type goldenVerb func(st *goldenStage, l *goldenLine) ([]string, error)

var goldenVerbs map[string]goldenVerb

func init() {
	goldenVerbs = map[string]goldenVerb{
		"changes":    (*goldenStage).changes,
		"describe":   (*goldenStage).describe,
		"digest":     (*goldenStage).digest,
		"holdings":   (*goldenStage).holdings,
		"inbox":      (*goldenStage).inbox,
		"key-of":     (*goldenStage).keyOf,
		"list":       (*goldenStage).list,
		"nodes":      (*goldenStage).nodes,
		"process":    (*goldenStage).process,
		"session-of": (*goldenStage).sessionOf,
		"sessions":   (*goldenStage).listSessions,
		"slot":       (*goldenStage).slot,
		"slot-of":    (*goldenStage).slotOf,
		"state":      (*goldenStage).state,
		"usage":      (*goldenStage).usage,
		"waiters":    (*goldenStage).waiters,

		"ask":       (*goldenStage).ask,
		"catch-up":  (*goldenStage).catchUp,
		"follow":    (*goldenStage).follow,
		"machine":   (*goldenStage).newMachine,
		"on":        (*goldenStage).on,
		"reconcile": (*goldenStage).reconcile,
		"replica":   (*goldenStage).replica,
		"restart":   (*goldenStage).restart,
		"snapshot":  (*goldenStage).snapshot,
		"watch":     (*goldenStage).watch,
	}
}

func (st *goldenStage) newMachine(l *goldenLine) ([]string, error) {
	o := machine.Options{
		Shard:   l.number("shard", 0),
		History: int(l.number("history", 0)),
		Bounds: machine.Bounds{
			Work: int(l.number("work", 0)), SessionLinks: int(l.number("session-links", 0)),
			AnswerBytes: int(l.number("answer-bytes", 0)),
		},
	}
	if slots, ok := l.text("slots"); ok {
		var first, last shard.Slot
		if n, err := fmt.Sscanf(slots, "%d-%d", &first, &last); n != 2 || err != nil || first > last ||
			last >= shard.Slots {
			l.fail("slots=%s should be such as slots=0-2047", slots)
		} else {
			o.Slots.Add(first, last)
		}
	}
	name := l.word("machine")
	if err := l.end(); err != nil {
		return nil, err
	}
	st.at = newGoldenMachine(name, o)
	return nil, st.addMachine(st.at)
}

func (st *goldenStage) on(l *goldenLine) ([]string, error) {
	g := st.machineNamed(l, l.word("machine"))
	if err := l.end(); err != nil {
		return nil, err
	}
	st.at = g
	return nil, nil
}

func (st *goldenStage) replica(l *goldenLine) ([]string, error) {
	isOf := l.flag("of")
	name := l.word("replica")
	of := st.machineNamed(l, l.word("machine"))
	if !isOf {
		l.fail("replica goes like this: replica a2 of a")
	}
	if err := l.end(); err != nil {
		return nil, err
	}
	g, err := of.replica(name)
	if err != nil {
		return nil, err
	}
	return nil, st.addMachine(g)
}

func (st *goldenStage) catchUp(l *goldenLine) ([]string, error) {
	g := st.machineNamed(l, l.word("replica"))
	if err := l.end(); err != nil {
		return nil, err
	}
	n, err := g.catchUp()
	return []string{fmt.Sprintf("%d batches behind, and now the same", n)}, err
}

func (st *goldenStage) snapshot(l *goldenLine) ([]string, error) {
	if err := l.end(); err != nil {
		return nil, err
	}
	g := st.machine()
	return []string{fmt.Sprintf("taken at batch %d", len(g.log))}, g.snapshot()
}

func (st *goldenStage) restart(l *goldenLine) ([]string, error) {
	if err := l.end(); err != nil {
		return nil, err
	}
	g := st.machine()
	lost := g.watches.Len()
	n, err := g.restart()
	line := fmt.Sprintf("from the snapshot and %d batches behind it: all is as before", n)
	if lost > 0 {
		line += fmt.Sprintf(", watches lost: %d", lost)
	}
	return []string{line}, err
}

func (st *goldenStage) digest(l *goldenLine) ([]string, error) {
	return []string{fmt.Sprintf("%016x", st.machine().Digest())}, l.end()
}

func (st *goldenStage) state(l *goldenLine) ([]string, error) {
	return goldenDrawing{State: st.machine().State(), name: st.name}.lines(), l.end()
}

// reconcile makes a machine ask another machine's directory for dead remote sessions, and forget them.
func (st *goldenStage) reconcile(l *goldenLine) ([]string, error) {
	isWith := l.flag("with")
	g := st.machineNamed(l, l.word("machine"))
	directory := st.machineNamed(l, l.word("directory"))
	if !isWith {
		l.fail("reconcile goes like this: reconcile b with a")
	}
	if err := l.end(); err != nil {
		return nil, err
	}
	var dead []shard.SessionID
	for at, over := shard.Cursor(0), false; !over; {
		dead, at, over = g.DeadRemoteSessions(at, directory, dead)
	}
	if len(dead) == 0 {
		return []string{"nobody is dead"}, nil
	}
	slices.Sort(dead)
	b := &goldenBatch{commands: []shard.Command{{Kind: shard.CmdSessionsForget, Sessions: dead}}}
	from := st.at
	st.at = g
	lines, err := st.propose(b)
	st.at = from
	return append([]string{"dead: " + st.drawSessions(dead)}, lines...), err
}

func (st *goldenStage) drawSessions(ids []shard.SessionID) string {
	var names []string
	for _, id := range ids {
		names = append(names, st.name(id))
	}
	return strings.Join(names, " ")
}

// ask asks a machine, as the session directory, about sessions.
func (st *goldenStage) ask(l *goldenLine) (lines []string, err error) {
	g := st.machineNamed(l, l.word("machine"))
	ids := st.sessionIDs(l, l.list("session"))
	if err := l.end(); err != nil {
		return nil, err
	}
	for _, id := range ids {
		lines = append(lines, st.name(id)+" is "+[...]string{
			shard.Unknown: "unknown", shard.Alive: "alive", shard.Dead: "dead",
		}[g.Liveness(id)])
	}
	return lines, nil
}

// watch is a describe with watch flags: without a semaphore there is nothing to watch.
func (st *goldenStage) watch(l *goldenLine) (lines []string, err error) {
	data, owners := l.flag("data"), l.flag("owners")
	s := st.session(l, l.word("session"))
	name := l.word("semaphore")
	if !data && !owners {
		l.fail("what does it watch, data or owners?")
	}
	if err := l.end(); err != nil {
		return nil, err
	}
	g := st.machine()
	var d shard.Description
	if !g.Describe(semaphoreRef(s.node, name), shard.DescribeOptions{Owners: true}, &d) {
		return []string{"NOT_FOUND"}, nil
	}
	token := uint64(len(g.watchers))
	g.watchers = append(g.watchers, goldenWatcher{s.id, shard.ObjectName{Node: s.node, Name: name}})
	if replaced, was := g.watches.Add(s.id, s.node, name, data, owners, token); was {
		lines = append(lines, st.drawFired(g.watchers[replaced], false, false))
	}
	return append(lines, st.drawDescription(drawName(s.node, name), &d)...), nil
}
