package machine

import (
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/internal/arena"
)

func init() {
	addKind(shard.KindSemaphore, KindRow{
		New: func() Kind { return &semaphores{texts: arena.NewTexts()} },
	}, []CommandRow{
		{
			Kind: shard.CmdSemaphoreCreate,
			Mutation: Mutation{
				Form: limitForm, Run: runCreate, Anonymous: true,
				Makes: func(*shard.Command) bool { return true },
			},
		},
		{
			Kind:     shard.CmdSemaphoreUpdate,
			Mutation: Mutation{Run: runUpdate, Anonymous: true},
		},
		{
			Kind:     shard.CmdSemaphoreDelete,
			Mutation: Mutation{Run: runDelete, Anonymous: true},
		},
		{
			Kind: shard.CmdAcquire,
			Mutation: Mutation{
				Form: acquireForm, Run: runAcquire, Resume: resumeAcquire, Waits: true,
				Makes: func(c *shard.Command) bool { return c.Flags&shard.FlagEphemeral != 0 },
			},
		},
		{
			Kind:     shard.CmdRelease,
			Mutation: Mutation{Run: runRelease},
		},
		{
			Kind:     shard.CmdSemaphoreResize,
			Mutation: Mutation{Form: limitForm, Run: runResize, Anonymous: true},
		},
		{
			Kind: shard.CmdWaitersTimeOut,
			Upkeep: Upkeep{
				Form: ListFits, Run: func(m *Core, c *shard.Command) { m.semaphores().timeOut(m, c) }, Fenced: true,
			},
		},
	})
}
