package meta

import (
	"fmt"
	"sync"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/access"
	"github.com/signalbox/signalbox/shard/clock"
)

// Machine is the meta shard's state machine.
//
// The log calls Apply and Restore, never at the same time. Reads may be called from any goroutine; a read holds the
// read lock for one lookup or one page.
type Machine struct {
	mu sync.RWMutex // guards content; Apply holds mu for one command at a time
	content

	// State used by Apply.
	out *Effects
	op  int32
	at  level.Level // the level for the whole batch
	// stamp is the batch timestamp.
	stamp clock.Stamp
}

// content is a machine's whole state.
type content struct {
	// version grows by one with every command that changes anything, and only with commands. Kept answers and the time
	// do not count as changes.
	version  uint64
	lastNode shard.NodeID // the highest node id ever issued
	level    level.Level  // the cluster's level, which is also the machine's

	// byPath and byID hold the same values.
	byPath   index[string, Node]
	byID     index[shard.NodeID, Node]
	dropping index[shard.NodeID, Dropped]
	hosts    index[shard.HostID, Host] // the registered hosts; empty once there is a topology
	topology *topology                 // nil until the hosts are bootstrapped
	rights   *access.Book              // never nil
	routing  Routing
	answers  answers // to numbered commands
	clock    clock.Clock
}

// New returns an empty machine.
func New() *Machine { return &Machine{content: newContent()} }

func newContent() content {
	return content{
		level:    level.First,
		byPath:   index[string, Node]{key: func(n *Node) string { return n.Path }},
		byID:     index[shard.NodeID, Node]{key: func(n *Node) shard.NodeID { return n.ID }},
		dropping: index[shard.NodeID, Dropped]{key: func(d *Dropped) shard.NodeID { return d.ID }},
		hosts:    newHosts(),
		rights:   access.Empty(),
		answers:  newAnswers(),
	}
}

func newHosts() index[shard.HostID, Host] {
	return index[shard.HostID, Host]{key: func(h *Host) shard.HostID { return h.ID }}
}

// Apply applies the commands of a batch in order and appends their effects to out.
func (m *Machine) Apply(b *Batch, out *Effects) {
	m.out, m.at = out, m.level
	m.advance(b.Stamp)
	for i := range b.Commands {
		m.op = int32(i)
		m.applyOne(&b.Commands[i])
	}
	m.out = nil
}

func (m *Machine) applyOne(c *Command) {
	m.mu.Lock()
	defer m.mu.Unlock()
	first, version := len(m.out.List), m.version
	switch {
	case c.Level > m.at:
		m.refuse(protocol.StatusUnsupported, "the command needs feature level %d; the cluster is at %d", c.Level,
			m.at)
	case m.isLate(c):
		m.refuse(protocol.StatusUnavailable, "the proposing leader's term is over, or has not begun; "+
			"nothing was done")
	case c.Numbered != Numbered{}:
		m.numbered(c)
	default:
		m.execute(c)
	}
	result := &m.out.List[first]
	assert(result.Kind == EffectResult && result.Op == m.op, "every command's answer comes first")
	changed := result.Flags&FlagChanged != 0
	assert(changed == (m.version == version+1) && (changed || m.version == version),
		"the version grows by one with a change and with nothing else")
}

// execute applies a command.
func (m *Machine) execute(c *Command) {
	switch c.Kind {
	case CmdNodeCreate:
		m.nodeCreate(c)
	case CmdNodeAlter:
		m.nodeAlter(c)
	case CmdNodeDrop:
		m.nodeDrop(c)
	default:
		if c.Request != nil {
			m.request(c)
			return
		}
		run := upkeeps[c.Kind]
		assert(run != nil, "only commands that this build knows are decoded")
		run(m, c)
	}
}

// Upkeep is work that clients do not request: hosts report about themselves, or about the data shards they lead, and
// the meta shard's leader proposes the reports. A report may be lost, late or duplicated. So a command either states
// facts that are true from every host and at every time, or names the term, the epoch, the version or the process start
// it refers to. Each command is a batch, or some commands share a batch. No host has more than a few batches in
// progress, so the log has capacity for clients; and clients are limited in turn, so the log has capacity for upkeep.
//
// The table in DESIGN.md, section 3, lists for each command which host proposes it and when, why late or duplicate
// commands are harmless, what happens if the command is lost or the log is full, and what bounds its work.

// upkeeps apply the upkeep commands, by kind. Each must answer once. A command that is a Request has no row: its type
// has an apply method.
var upkeeps = [256]func(m *Machine, c *Command){
	CmdGraceConfirmed:  (*Machine).graceConfirmed,
	CmdNodeCleared:     (*Machine).nodeCleared,
	CmdHostRegister:    (*Machine).hostRegister,
	CmdHostObservation: (*Machine).hostSeen,
	CmdClusterLevel:    (*Machine).clusterLevel,
	CmdDigestTake:      func(m *Machine, _ *Command) { m.accept(0) },
	CmdDigestCompare:   func(m *Machine, _ *Command) { m.accept(0) },
	CmdLead:            (*Machine).lead,
	CmdRoutingInit:     (*Machine).routingInit,
}

// advance moves shard time to the batch's proposal time.
func (m *Machine) advance(s clock.Stamp) {
	m.stamp = s
	m.mu.Lock()
	defer m.mu.Unlock()
	m.clock.Advance(s)
}

// isLate reports whether a command comes from a leader whose term is over, or has not begun. Shard time then differs
// from the command's proposal time.
func (m *Machine) isLate(c *Command) bool { return m.stamp.Term != m.clock.Term && c.Kind != CmdLead }

func (m *Machine) lead(c *Command) {
	if !m.clock.Lead(c.Term) {
		m.refuse(protocol.StatusStale, "term %d is over", c.Term)
		return
	}
	m.accept(0)
}

// Clock returns shard time, as advanced by the log.
func (m *Machine) Clock() clock.Clock {
	return look(m, func(c *content) clock.Clock { return c.clock })
}

// Time returns shard time in milliseconds. It only grows, and only with the log.
func (m *Machine) Time() uint64 { return m.Clock().Now }

// emit appends an effect for the current command. The pointer is good until the next emit.
func (m *Machine) emit(k EffectKind) *Effect {
	m.out.List = append(m.out.List, Effect{Kind: k, Op: m.op, Version: m.version})
	return &m.out.List[len(m.out.List)-1]
}

// accept answers the current command with success, without a change.
func (m *Machine) accept(flags EffectFlags) *Effect {
	e := m.emit(EffectResult)
	e.Flags = flags
	return e
}

// change answers the current command, which changes the content.
func (m *Machine) change(flags EffectFlags) *Effect {
	m.version++
	return m.accept(flags | FlagChanged)
}

// refuse answers the current command: nothing was changed. Like everything here, the message depends only on the
// command and the state.
func (m *Machine) refuse(s protocol.Status, format string, args ...any) *Effect {
	e := m.emit(EffectResult)
	e.Status, e.Message = s, fmt.Sprintf(format, args...)
	return e
}

// assert stops the replica, because a replica must not go on in an impossible state.
func assert(ok bool, what string) {
	if !ok {
		panic("meta: broken invariant: " + what)
	}
}
