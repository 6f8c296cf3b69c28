package process

// Limits on process state; package protocol/process has the limits on messages. The limits are constants because every
// replica must agree on them. A command beyond a limit is refused before it has any effect.
const (
	// maxUnread is the maximum number of unacknowledged requests in an inbox.
	maxUnread = 256
	// maxUnreadBytes is the maximum size of an inbox's unacknowledged requests, in bytes.
	maxUnreadBytes = 4 << 20
	// maxRequests is the maximum number of requests in all inboxes together. The limit keeps the command that ends a
	// round short.
	maxRequests = 100_000
	// maxOpen is the maximum number of exchanges per member that are open, or have an unacknowledged end.
	maxOpen = 256
	// maxExchanges is the maximum number of exchanges in a process.
	maxExchanges = 2048
	// maxHeld is the maximum total size of a process's exchanges, in bytes.
	maxHeld = 8 << 20
	// MaxAudit is how many audit entries a process keeps.
	MaxAudit = 64
	// partBytes is the reply size from which an exchange end continues in a further part, in bytes.
	partBytes = 128 << 10
	// maxMissed is how many members without a reply are listed in an exchange end.
	maxMissed = 64
	// MaxReasons is how many open exchanges the reasons list.
	MaxReasons = 16
)

// Fixed bytes charged to a quota, beside the content, for the memory that each value takes.
const (
	// Bytes is for a process, memberBytes for a member.
	Bytes         = 640
	memberBytes   = 224
	itemBytes     = 40
	exchangeBytes = 240
	replyBytes    = 48
	resultBytes   = 64
	actBytes      = 64
	wordBytes     = 8 // a set word, a member in a list
)
