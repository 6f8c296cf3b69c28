package machine_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/machine"
)

// goldenStage is a script's environment: machines, and named sessions and clients.
type goldenStage struct {
	machines  map[string]*goldenMachine
	at        *goldenMachine
	sessions  map[string]*goldenSession
	names     map[shard.SessionID]string
	followers map[string]*goldenFollower
}

// goldenSession is a session as its client sees it.
type goldenSession struct {
	id     shard.SessionID
	node   shard.NodeID
	number uint64 // number of its last mutation
	last   shard.Command
}

func newGoldenStage() *goldenStage {
	return &goldenStage{
		machines:  make(map[string]*goldenMachine),
		sessions:  make(map[string]*goldenSession),
		names:     make(map[shard.SessionID]string),
		followers: make(map[string]*goldenFollower),
	}
}

// run runs a block and returns its output.
func (st *goldenStage) run(path string, b *goldenBlock) (output []string, err error) {
	line := b.line
	at := func(err error) error { return fmt.Errorf("%s:%d: %w", path, line, err) }
	defer func() {
		if r := recover(); r != nil {
			panic(fmt.Sprintf("%s:%d: %v", path, line, r))
		}
	}()
	var batch *goldenBatch
	for i, text := range b.input {
		line = b.line + i
		if strings.HasPrefix(text, "#") {
			continue
		}
		l := readGoldenLine(text)
		var printed []string
		switch {
		case l.err != nil:
			return nil, at(l.err)
		case l.verb == "batch" && batch == nil:
			batch = &goldenBatch{line: line, brief: l.flag("brief")}
			batch.readStamp(l)
			err = l.end()
		case l.verb == "end" && batch != nil && len(l.words) == 0:
			printed, err = st.propose(batch)
			batch = nil
		case goldenProposals[l.verb] != nil:
			alone := goldenBatch{}
			to := batch
			if to == nil {
				to = &alone
				to.brief = l.flag("brief")
				to.readStamp(l)
			}
			before, at := len(to.commands), l.millis("at", "0s")
			goldenProposals[l.verb](st, l, to)
			for i := range to.commands[before:] {
				to.commands[before+i].Time = at
			}
			if err = l.end(); err == nil && batch == nil {
				printed, err = st.propose(to)
			}
		case goldenVerbs[l.verb] == nil:
			err = fmt.Errorf("unknown command %q", l.verb)
		case batch != nil:
			err = fmt.Errorf("%s does not belong into a batch", l.verb)
		default:
			printed, err = goldenVerbs[l.verb](st, l)
		}
		if err != nil {
			return nil, at(err)
		}
		output = append(output, printed...)
	}
	if batch != nil {
		line = batch.line
		return nil, at(fmt.Errorf("the batch has no end"))
	}
	return output, nil
}

// machine returns the current machine, by default a machine that serves all slots.
func (st *goldenStage) machine() *goldenMachine {
	if st.at == nil {
		st.at = newGoldenMachine("shard", machine.Options{})
		st.machines[st.at.name] = st.at
	}
	return st.at
}

// propose applies a batch on the current machine, fires its watches, and draws the result.
func (st *goldenStage) propose(b *goldenBatch) ([]string, error) {
	g := st.machine()
	effects, err := g.propose(b.commands, b.stampOf(g.Machine))
	if err != nil {
		return nil, err
	}
	for _, e := range effects {
		c := &b.commands[e.Op]
		if name := b.names[int(e.Op)]; name != "" && e.Kind == shard.EffectResult && e.Session != 0 {
			st.sessions[name] = &goldenSession{id: e.Session, node: c.Node}
			st.names[e.Session] = name
		}
	}
	var lines []string
	if b.brief {
		lines = st.drawBrief(b.commands, effects)
	} else {
		for _, e := range effects {
			line := st.drawEffect(&b.commands[e.Op], e)
			if len(b.commands) > 1 {
				line = fmt.Sprintf("%d: %s", e.Op, line)
			}
			lines = append(lines, line)
		}
	}
	g.watches.Apply(effects, func(token uint64, data, owners bool) {
		lines = append(lines, st.drawFired(g.watchers[token], data, owners))
	})
	return lines, nil
}

func (st *goldenStage) drawFired(w goldenWatcher, data, owners bool) string {
	line := fmt.Sprintf("fires %s %s", st.name(w.session), drawName(w.name.Node, w.name.Name))
	if data {
		line += " data"
	}
	if owners {
		line += " owners"
	}
	if !data && !owners {
		line += " for nothing: replaced"
	}
	return line
}

// name returns a session's name in the script, or its id if unnamed.
func (st *goldenStage) name(id shard.SessionID) string {
	if name := st.names[id]; name != "" {
		return name
	}
	return id.String()
}

// session takes a session by name.
func (st *goldenStage) session(l *goldenLine, name string) *goldenSession {
	s := st.sessions[name]
	if s == nil {
		l.fail("%q is no session", name)
		return &goldenSession{}
	}
	return s
}

// sessionID takes a name or an id such as 0-17.
func (st *goldenStage) sessionID(l *goldenLine, name string) shard.SessionID {
	var slot shard.Slot
	var counter uint64
	if s := st.sessions[name]; s != nil {
		return s.id
	}
	if n, err := fmt.Sscanf(name, "%d-%d", &slot, &counter); n != 2 || err != nil || slot >= shard.Slots ||
		counter == 0 {
		l.fail("%q is no session", name)
		return 0
	}
	return shard.NewSessionID(slot, counter)
}

func (st *goldenStage) sessionIDs(l *goldenLine, names []string) []shard.SessionID {
	var ids []shard.SessionID
	for _, name := range names {
		ids = append(ids, st.sessionID(l, name))
	}
	return ids
}

func (st *goldenStage) machineNamed(l *goldenLine, name string) *goldenMachine {
	g := st.machines[name]
	if g == nil && l.err == nil {
		l.fail("%q is no machine", name)
	}
	return g
}

func (st *goldenStage) addMachine(g *goldenMachine) error {
	if st.machines[g.name] != nil {
		return fmt.Errorf("there is a machine %s: %v", g.name, slices.Sorted(maps.Keys(st.machines)))
	}
	st.machines[g.name] = g
	return nil
}
