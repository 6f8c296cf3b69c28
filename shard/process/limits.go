package process

// The limits of the state of a process, beside the limits of what is said in package protocol/process. Every replica
// must agree on the limits, so the limits are constants. A command beyond a limit is refused before the command has any
// effect.
const (
	// maxUnread is how many unacknowledged requests wait in an inbox.
	maxUnread = 256
	// maxUnreadBytes is how many bytes the unacknowledged requests of an inbox have.
	maxUnreadBytes = 4 << 20
	// maxRequests is how many requests wait in all inboxes together, so that the end of a round is one short command.
	maxRequests = 100_000
	// maxOpen is how many exchanges of a member are open, or have an end that the member has not acknowledged.
	maxOpen = 256
	// maxExchanges is how many exchanges a process keeps.
	maxExchanges = 2048
	// maxHeld is how many bytes the exchanges of a process have together.
	maxHeld = 8 << 20
	// MaxAudit is how many acts a process remembers.
	MaxAudit = 64
	// partBytes is from how many bytes of replies on the end of an exchange goes in a further part.
	partBytes = 128 << 10
	// maxMissed is how many members without a reply the end of an exchange names.
	maxMissed = 64
	// MaxReasons is how many open exchanges the reasons name.
	MaxReasons = 16
)

// What a process and a member count for in a quota of bytes beside their own bytes: their places in memory.
const (
	// Bytes is for a process, memberBytes for a member.
	Bytes         = 640
	memberBytes   = 224
	itemBytes     = 40
	exchangeBytes = 240
	replyBytes    = 48
	resultBytes   = 64
	actBytes      = 64
	wordBytes     = 8 // of a set, a member in a list
)
