package process

// The limits of the state of a process, beside the limits of what is said in package protocol/process. Every replica
// must agree on the limits, so the limits are constants. A command beyond a limit is refused before the command has any
// effect.
const (
	// MaxUnread is how many unacknowledged requests wait in an inbox.
	MaxUnread = 256
	// MaxUnreadBytes is how many bytes the unacknowledged requests of an inbox have.
	MaxUnreadBytes = 4 << 20
	// MaxRequests is how many requests wait in all inboxes together, so that the end of a round is one short command.
	MaxRequests = 100_000
	// MaxOpen is how many exchanges of a member are open, or have an end that the member has not acknowledged.
	MaxOpen = 256
	// MaxExchanges is how many exchanges a process keeps.
	MaxExchanges = 2048
	// MaxHeld is how many bytes the exchanges of a process have together.
	MaxHeld = 8 << 20
	// MaxAudit is how many acts a process remembers.
	MaxAudit = 64
	// PartBytes is from how many bytes of replies on the end of an exchange goes in a further part.
	PartBytes = 128 << 10
	// MaxMissed is how many members without a reply the end of an exchange names.
	MaxMissed = 64
	// MaxReasons is how many open exchanges the reasons name.
	MaxReasons = 16
)

// What a process and a member count for in a quota of bytes beside their own bytes: their places in memory.
const (
	// Bytes is for a process, MemberBytes for a member.
	Bytes         = 640
	MemberBytes   = 224
	itemBytes     = 40
	exchangeBytes = 240
	replyBytes    = 48
	resultBytes   = 64
	actBytes      = 64
	wordBytes     = 8 // of a set, a member in a list
)
