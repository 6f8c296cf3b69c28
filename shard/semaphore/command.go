package semaphore

import (
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/internal/arena"
	"github.com/signalbox/signalbox/shard/machine"
)

// Kind describes semaphores to machines. The client commands are numbered mutations; waiter-withdraw is the only
// command about semaphores a leader proposes.
func Kind() machine.KindRow {
	return machine.KindRow{Number: shard.KindSemaphore,
		New: func() machine.Kind { return &semaphores{texts: arena.NewTexts()} }, Commands: []machine.CommandRow{
			{
				Kind: shard.CmdSemaphoreCreate,
				Mutation: machine.Mutation{
					Form: limitForm, Run: runCreate, Anonymous: true,
					Makes: func(*shard.Command) bool { return true },
				},
			},
			{
				Kind:     shard.CmdSemaphoreUpdate,
				Mutation: machine.Mutation{Run: runUpdate, Anonymous: true},
			},
			{
				Kind:     shard.CmdSemaphoreDelete,
				Mutation: machine.Mutation{Run: runDelete, Anonymous: true},
			},
			{
				Kind: shard.CmdAcquire,
				Mutation: machine.Mutation{
					Form: acquireForm, Run: runAcquire, Resume: resumeAcquire, Waits: true,
					Makes: func(c *shard.Command) bool { return c.Flags&shard.FlagEphemeral != 0 },
				},
			},
			{
				Kind:     shard.CmdRelease,
				Mutation: machine.Mutation{Run: runRelease},
			},
			{
				Kind:     shard.CmdSemaphoreResize,
				Mutation: machine.Mutation{Form: limitForm, Run: runResize, Anonymous: true},
			},
			{
				Kind:   shard.CmdWaiterWithdraw,
				Upkeep: machine.Upkeep{Run: runWithdraw},
			},
		}}
}
