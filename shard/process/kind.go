package process

import (
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/internal/arena"
	"github.com/signalbox/signalbox/shard/machine"
)

// Kind describes the kind to machines.
func Kind() machine.KindRow {
	return machine.KindRow{Number: shard.KindProcess, New: newStore, Commands: []machine.CommandRow{
		{
			Kind:     shard.CmdProcessPut,
			Mutation: machine.Mutation{Run: runPut, Anonymous: true, Makes: putMakes, MostBody: machine.MostRefusal},
		},
		{
			Kind:     shard.CmdProcessDelete,
			Mutation: machine.Mutation{Run: runDelete, Anonymous: true, MostBody: machine.MostRefusal},
		},
		{
			Kind:     shard.CmdProcessJoin,
			Mutation: machine.Mutation{Run: runJoin, Makes: arrivalMakes, MostBody: machine.MostRefusal},
		},
		forMembers(shard.CmdProcessLeave, (*work).leave),
		forMembers(shard.CmdProcessPrepared, (*work).prepared),
		forMembers(shard.CmdProcessSend, (*work).send),
		forMembers(shard.CmdProcessReply, (*work).reply),
		forMembers(shard.CmdProcessComplete, (*work).complete),
		forMembers(shard.CmdProcessCompleted, (*work).completed),
		forMembers(shard.CmdProcessFail, (*work).fail),
		forMembers(shard.CmdInboxAck, (*work).acknowledge),
		{
			Kind:     shard.CmdProcessAct,
			Mutation: machine.Mutation{Run: runAct, Anonymous: true, MostBody: machine.MostRefusal},
		},
	}}
}

// forMembers is the row for a member command.
func forMembers(k shard.CommandKind,
	does func(*work, *shard.Command, *Member) Answer) machine.CommandRow {
	run := func(co *machine.Core, c *shard.Command, t *machine.Target) machine.Outcome {
		return processesOf(co).runMember(co, c, t, does)
	}
	return machine.CommandRow{Kind: k, Mutation: machine.Mutation{Run: run, MostBody: machine.MostRefusal}}
}

func processesOf(co *machine.Core) *processes { return co.Kind(shard.KindProcess).(*processes) }

// processes is the kind's store. The embedded slab has the processes.
type processes struct {
	arena.Slab[hostedProcess]
	members arena.Slab[processMember]

	work   work // the command in progress
	counts Counts
}

// hostedProcess is one process's state in the store.
type hostedProcess struct {
	*Process
	object         arena.Handle
	alarm          uint64 // the object's alarm
	whole, results machine.ViewTrack
}

// processMember is a joined session: the kind state in the session's holding. The member's Ref is the holding.
type processMember struct {
	Member
	of      arena.Handle // its process
	touched uint64       // number of the last work that touched the member's holding
}

func newStore() machine.Kind { return &processes{} }

func (pr *processes) StateSize(body arena.Handle) int { return pr.At(body).Size() }

func (pr *processes) FreeState(body arena.Handle) { pr.Release(body) }

func (pr *processes) HoldingSize(body arena.Handle) int { return pr.members.At(body).Size() }

func (pr *processes) FreeHolding(body arena.Handle) { pr.members.Release(body) }

func (pr *processes) Role(l *machine.Holding) string {
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
