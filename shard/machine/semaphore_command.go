package machine

import (
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/internal/arena"
)

func init() {
	addKind(shard.KindSemaphore, kindRow{
		newStore: func() kind { return &semaphores{texts: arena.NewTexts()} },
	}, []kindCommand{
		{
			kind: shard.CmdSemaphoreCreate,
			mutation: mutation{
				form: limitForm, run: runCreate, anonymous: true,
				makes: func(*shard.Command) bool { return true },
			},
		},
		{
			kind:     shard.CmdSemaphoreUpdate,
			mutation: mutation{run: runUpdate, anonymous: true},
		},
		{
			kind:     shard.CmdSemaphoreDelete,
			mutation: mutation{run: runDelete, anonymous: true},
		},
		{
			kind: shard.CmdAcquire,
			mutation: mutation{
				form: acquireForm, run: runAcquire, resume: resumeAcquire, waits: true,
				makes: func(c *shard.Command) bool { return c.Flags&shard.FlagEphemeral != 0 },
			},
		},
		{
			kind:     shard.CmdRelease,
			mutation: mutation{run: runRelease},
		},
		{
			kind:     shard.CmdSemaphoreResize,
			mutation: mutation{form: limitForm, run: runResize, anonymous: true},
		},
		{
			kind: shard.CmdWaitersTimeOut,
			upkeep: upkeep{
				form: listFits, run: func(m *Core, c *shard.Command) { m.semaphores().timeOut(m, c) }, fenced: true,
			},
		},
	})
}
