package machine

import (
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/internal/arena"
	"github.com/signalbox/signalbox/shard/process"
)

// ProcessKind describes the kind to machines.
func ProcessKind() KindRow {
	return KindRow{Number: shard.KindProcess, New: newProcesses, Commands: []CommandRow{
		{
			Kind:     shard.CmdProcessPut,
			Mutation: Mutation{Run: runProcessPut, Anonymous: true, Makes: processPutMakes, MostBody: MostRefusal},
		},
		{
			Kind:     shard.CmdProcessDelete,
			Mutation: Mutation{Run: runProcessDelete, Anonymous: true, MostBody: MostRefusal},
		},
		{
			Kind:     shard.CmdProcessJoin,
			Mutation: Mutation{Run: runProcessJoin, Makes: arrivalMakes, MostBody: MostRefusal},
		},
		forMembers(shard.CmdProcessLeave, (*processWork).leave),
		forMembers(shard.CmdProcessPrepared, (*processWork).prepared),
		forMembers(shard.CmdProcessSend, (*processWork).send),
		forMembers(shard.CmdProcessReply, (*processWork).reply),
		forMembers(shard.CmdProcessComplete, (*processWork).complete),
		forMembers(shard.CmdProcessCompleted, (*processWork).completed),
		forMembers(shard.CmdProcessFail, (*processWork).fail),
		forMembers(shard.CmdInboxAck, (*processWork).acknowledge),
		{
			Kind:     shard.CmdProcessAct,
			Mutation: Mutation{Run: runProcessAct, Anonymous: true, MostBody: MostRefusal},
		},
	}}
}

// forMembers is the row of a command by a member of a process.
func forMembers(k shard.CommandKind,
	does func(*processWork, *shard.Command, *process.Member) process.Answer) CommandRow {
	run := func(m *Core, c *shard.Command, t *Target) { m.processes().runMember(m, c, t, does) }
	return CommandRow{Kind: k, Mutation: Mutation{Run: run, MostBody: MostRefusal}}
}

func runProcessPut(m *Core, c *shard.Command, t *Target) { m.processes().put(m, c, t) }

func runProcessDelete(m *Core, c *shard.Command, t *Target) { m.processes().delete(m, c, t) }

func runProcessJoin(m *Core, c *shard.Command, t *Target) { m.processes().join(m, c, t) }

func runProcessAct(m *Core, c *shard.Command, t *Target) { m.processes().act(m, c, t) }

func (co *Core) processes() *processes { return co.Kind(shard.KindProcess).(*processes) }

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
	whole, results ViewTrack
}

// processMember is a session that has joined: the body of the session's link. The Ref of the member is the link.
type processMember struct {
	process.Member
	of      arena.Handle // its process
	touched uint64       // number of the last work that touched the member's link
}

func newProcesses() Kind { return &processes{} }

func (pr *processes) StateSize(body arena.Handle) int { return pr.At(body).Size() }

func (pr *processes) FreeState(body arena.Handle) { pr.Release(body) }

func (pr *processes) HoldingSize(body arena.Handle) int { return pr.members.At(body).Size() }

func (pr *processes) FreeHolding(body arena.Handle) { pr.members.Release(body) }

func (pr *processes) Role(l *Holding) string {
	m := pr.members.At(l.State)
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
