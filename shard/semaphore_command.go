package shard

import "github.com/signalbox/signalbox/shard/internal/arena"

// KindSemaphore is the kind of semaphores.
const KindSemaphore ObjectKind = 1

// The commands of semaphores.
const (
	// CmdWaitersTimeOut takes waiters out of queues after their time is up. Uses Term, Waiters.
	CmdWaitersTimeOut CommandKind = 7
	// CmdSemaphoreCreate makes a persistent semaphore. Uses the mutation fields, Node, Name, Count
	// (the limit), Data.
	CmdSemaphoreCreate CommandKind = 16
	// CmdSemaphoreUpdate replaces a semaphore's data. Uses the mutation fields, Node, Name, Data, and
	// Order and Revision as guards where they are not zero.
	CmdSemaphoreUpdate CommandKind = 17
	// CmdSemaphoreDelete deletes a persistent semaphore. Uses the mutation fields, Node, Name, and
	// FlagForce.
	CmdSemaphoreDelete CommandKind = 18
	// CmdAcquire takes Count of a semaphore or waits for it. Uses the mutation fields, Node, Name,
	// Count, Timeout (ms, 0 = try, Forever), Data, and FlagEphemeral.
	CmdAcquire CommandKind = 19
	// CmdRelease gives back all that the session owns of a semaphore, or leaves the queue. Uses the mutation fields,
	// Node, Name, and Order as a guard unless it is zero.
	CmdRelease CommandKind = 20
	// CmdSemaphoreResize changes the limit of a persistent semaphore. Uses the mutation fields, Node, Name, Count
	// (the limit), and Revision as a guard unless it is zero.
	CmdSemaphoreResize CommandKind = 21
)

func init() {
	addKind(KindSemaphore, kindRow{
		name:     "semaphore",
		newStore: func() kind { return &semaphores{texts: arena.NewTexts()} },
	}, []kindCommand{
		{
			kind: CmdSemaphoreCreate, name: "semaphore-create",
			mutation: mutation{
				form: limitForm, run: runCreate, anonymous: true,
				makes: func(*Command) bool { return true },
			},
		},
		{
			kind: CmdSemaphoreUpdate, name: "semaphore-update",
			mutation: mutation{run: runUpdate, anonymous: true},
		},
		{
			kind: CmdSemaphoreDelete, name: "semaphore-delete",
			mutation: mutation{run: runDelete, anonymous: true},
		},
		{
			kind: CmdAcquire, name: "acquire", timed: true,
			mutation: mutation{
				form: acquireForm, run: runAcquire, resume: resumeAcquire, waits: true,
				makes: func(c *Command) bool { return c.Flags&FlagEphemeral != 0 },
			},
		},
		{
			kind: CmdRelease, name: "release", timed: true,
			mutation: mutation{run: runRelease},
		},
		{
			kind: CmdSemaphoreResize, name: "semaphore-resize", timed: true,
			mutation: mutation{form: limitForm, run: runResize, anonymous: true},
		},
		{
			kind: CmdWaitersTimeOut, name: "waiters-time-out", timed: true,
			upkeep: upkeep{
				form: listFits, run: func(m *Machine, c *Command) { m.semaphores().timeOut(m, c) }, fenced: true,
			},
		},
	})
}
