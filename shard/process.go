package shard

import (
	"github.com/signalbox/signalbox/shard/internal/arena"
	"github.com/signalbox/signalbox/shard/process"
)

// KindProcess is the kind of coordination processes. The rules of processes are in package process. The files of
// package shard that begin with "process" give each process a place in a node, its members their sessions, and its
// views their history.
const KindProcess ObjectKind = 4

// The commands of processes. If a command has a Body, the Body is a form of package process: a type of package
// protocol/process, or the receivers of a request. Numbers up to 79 are reserved for commands of processes.
//
// The commands of a member, from leave on, use Order: the id of the member. Commands about an epoch use Term: the
// epoch; and Count: the seq up to which the member has handled its inbox. The machine acknowledges the inbox after
// the command, whether the command succeeded or not; a Count of 0 acknowledges nothing.
const (
	// CmdProcessPut makes a process or alters it. Uses the mutation fields, Node, Name, and Body: a Put.
	CmdProcessPut CommandKind = 64
	// CmdProcessDelete deletes a process. Uses the mutation fields, Node, Name, and FlagForce.
	CmdProcessDelete CommandKind = 65
	// CmdProcessJoin makes the session a member. Uses the mutation fields, Node, Name, and Body: an Arrival.
	CmdProcessJoin CommandKind = 66
	// CmdProcessLeave ends the membership. Uses the mutation fields, Node, Name, and Order.
	CmdProcessLeave CommandKind = 67
	// CmdProcessPrepared says that the member is prepared. Uses the mutation fields, Node, Name, Order, Term and Count.
	CmdProcessPrepared CommandKind = 68
	// CmdProcessSend sends a request. Uses what CmdProcessPrepared does, Timeout: for how long the sender waits, 0 for
	// the whole round, Body: the receivers of a process.Request, and Data: its payload.
	CmdProcessSend CommandKind = 69
	// CmdProcessReply answers a request. Uses the fields of CmdProcessPrepared, Timeout: the exchange, Data,
	// FlagFailed.
	CmdProcessReply CommandKind = 70
	// CmdProcessComplete completes the round. Uses the fields of CmdProcessPrepared, and Data: the result.
	CmdProcessComplete CommandKind = 71
	// CmdProcessCompleted says that the member has handled the completion. Uses the fields of CmdProcessPrepared.
	CmdProcessCompleted CommandKind = 72
	// CmdProcessFail gives the round up. Uses the fields of CmdProcessPrepared, and Data: a text with the reason.
	CmdProcessFail CommandKind = 73
	// CmdInboxAck frees what the member has handled. Uses the mutation fields, Node, Name, Order and Count.
	CmdInboxAck CommandKind = 74
	// CmdProcessAct is an operator's act. Uses the mutation fields, Node, Name, and Body: an Act.
	CmdProcessAct CommandKind = 75
)

func init() {
	addKind(KindProcess, kindRow{
		name: "process", newStore: newProcesses,
	}, []kindCommand{
		{
			kind: CmdProcessPut, name: "process-put", timed: true,
			mutation: mutation{run: runProcessPut, anonymous: true, makes: processPutMakes, mostBody: mostRefusal},
		},
		{
			kind: CmdProcessDelete, name: "process-delete", timed: true,
			mutation: mutation{run: runProcessDelete, anonymous: true, mostBody: mostRefusal},
		},
		{
			kind: CmdProcessJoin, name: "process-join", timed: true,
			mutation: mutation{run: runProcessJoin, makes: arrivalMakes, mostBody: mostRefusal},
		},
		forMembers(CmdProcessLeave, "process-leave", (*processWork).leave),
		forMembers(CmdProcessPrepared, "process-prepared", (*processWork).prepared),
		forMembers(CmdProcessSend, "process-send", (*processWork).send),
		forMembers(CmdProcessReply, "process-reply", (*processWork).reply),
		writtenDown(forMembers(CmdProcessComplete, "process-complete", (*processWork).complete)),
		forMembers(CmdProcessCompleted, "process-completed", (*processWork).completed),
		writtenDown(forMembers(CmdProcessFail, "process-fail", (*processWork).fail)),
		forMembers(CmdInboxAck, "inbox-ack", (*processWork).acknowledge),
		{
			kind: CmdProcessAct, name: "process-act", timed: true,
			mutation: mutation{run: runProcessAct, anonymous: true, mostBody: mostRefusal},
		},
	})
}

// forMembers is the row of a command by a member of a process.
func forMembers(k CommandKind, name string,
	does func(*processWork, *Command, *process.Member) process.Answer) kindCommand {
	run := func(m *Machine, c *Command, t *target) { m.processes().runMember(m, c, t, does) }
	return kindCommand{kind: k, name: name, mutation: mutation{run: run, mostBody: mostRefusal}}
}

// writtenDown is for commands that a process remembers, with the time of day.
func writtenDown(c kindCommand) kindCommand {
	c.timed = true
	return c
}

func runProcessPut(m *Machine, c *Command, t *target) { m.processes().put(m, c, t) }

func runProcessDelete(m *Machine, c *Command, t *target) { m.processes().delete(m, c, t) }

func runProcessJoin(m *Machine, c *Command, t *target) { m.processes().join(m, c, t) }

func runProcessAct(m *Machine, c *Command, t *target) { m.processes().act(m, c, t) }

func (m *Machine) processes() *processes { return m.kinds[KindProcess].(*processes) }

// processes is the store of the kind. The embedded slab has the processes.
type processes struct {
	arena.Slab[hostedProcess]
	members arena.Slab[processMember]

	work   processWork // of the command under way
	counts ProcessCounts
}

// hostedProcess is the state of one process in the store.
type hostedProcess struct {
	*process.Process
	object         arena.Handle
	alarm          uint64 // the alarm of its object
	whole, results viewTrack
}

// processMember is a session that has joined: the body of the session's link. The Ref of the member is the link.
type processMember struct {
	process.Member
	of      arena.Handle // its process
	touched uint64       // number of the last work that touched the member's link
}

func newProcesses() kind { return &processes{} }

func (pr *processes) bodySize(body arena.Handle) int { return pr.At(body).Size() }

func (pr *processes) free(body arena.Handle) { pr.Release(body) }

func (pr *processes) linkSize(body arena.Handle) int { return pr.members.At(body).Size() }

func (pr *processes) freeLink(body arena.Handle) { pr.members.Release(body) }

func (pr *processes) role(l *link) string {
	m := pr.members.At(l.body)
	p := pr.At(m.of)
	switch _, round := p.View(p.Epoch()); {
	case round && p.Coordinator() == m.ID:
		return "coordinator"
	case m.Candidate:
		return "candidate"
	default:
		return "observer"
	}
}
