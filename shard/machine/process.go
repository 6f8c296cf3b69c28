package machine

import (
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/internal/arena"
	"github.com/signalbox/signalbox/shard/process"
)

func init() {
	addKind(shard.KindProcess, kindRow{
		newStore: newProcesses,
	}, []kindCommand{
		{
			kind:     shard.CmdProcessPut,
			mutation: mutation{run: runProcessPut, anonymous: true, makes: processPutMakes, mostBody: mostRefusal},
		},
		{
			kind:     shard.CmdProcessDelete,
			mutation: mutation{run: runProcessDelete, anonymous: true, mostBody: mostRefusal},
		},
		{
			kind:     shard.CmdProcessJoin,
			mutation: mutation{run: runProcessJoin, makes: arrivalMakes, mostBody: mostRefusal},
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
			kind:     shard.CmdProcessAct,
			mutation: mutation{run: runProcessAct, anonymous: true, mostBody: mostRefusal},
		},
	})
}

// forMembers is the row of a command by a member of a process.
func forMembers(k shard.CommandKind,
	does func(*processWork, *shard.Command, *process.Member) process.Answer) kindCommand {
	run := func(m *Core, c *shard.Command, t *target) { m.processes().runMember(m, c, t, does) }
	return kindCommand{kind: k, mutation: mutation{run: run, mostBody: mostRefusal}}
}

func runProcessPut(m *Core, c *shard.Command, t *target) { m.processes().put(m, c, t) }

func runProcessDelete(m *Core, c *shard.Command, t *target) { m.processes().delete(m, c, t) }

func runProcessJoin(m *Core, c *shard.Command, t *target) { m.processes().join(m, c, t) }

func runProcessAct(m *Core, c *shard.Command, t *target) { m.processes().act(m, c, t) }

func (co *Core) processes() *processes { return co.kinds[shard.KindProcess].(*processes) }

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
