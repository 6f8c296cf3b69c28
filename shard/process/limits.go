package process

// The limits of a process. Every replica must agree on them, so they are constants. What is beyond them is refused
// before it has any effect.
const (
	// MaxMembers is how many members there are at once. A broadcast, and the opening of an epoch, touch all of them in
	// one command, which may touch shard.MaxTouched links.
	MaxMembers = 2000
	// MaxUnread is how many requests wait in an inbox that are not acknowledged, MaxUnreadBytes how many bytes.
	MaxUnread      = 256
	MaxUnreadBytes = 4 << 20
	// MaxRequests is how many wait in all inboxes together, so that the end of a round is one short command.
	MaxRequests = 100_000
	// MaxOpen is how many exchanges a member has that are open, or whose end it has not acknowledged.
	MaxOpen = 256
	// MaxExchanges is how many exchanges a process keeps, MaxHeld how many bytes they have together.
	MaxExchanges = 2048
	MaxHeld      = 8 << 20
	// MaxPayload is the longest payload of a request, of a reply and of a result that a spec may allow, in bytes.
	MaxPayload = 64 << 10
	// MinKeep and MaxKeep bound how many results are kept.
	MinKeep = 1
	MaxKeep = 64
	// MaxText is the longest name of a member, author and reason, in bytes.
	MaxText = 256
	// MaxFailure is the longest text of a member that could not do what it was asked, in bytes.
	MaxFailure = 1024
	// MaxAttributes is the longest that a member says of itself, in bytes.
	MaxAttributes = 1024
	// MaxAudit is how many acts a process remembers.
	MaxAudit = 64
	// MaxOpenDelay is the longest time for which the next epoch may wait for further changes, in milliseconds.
	MaxOpenDelay = 10 * 60 * 1000
	// MaxTimeout is the longest time to reply, in milliseconds.
	MaxTimeout = 30 * 24 * 3600 * 1000
	// PartBytes is from how many bytes of replies on the end of an exchange goes in a further part.
	PartBytes = 128 << 10
	// MaxMissed is how many of those that have not replied the end of an exchange names, MaxNamed how many a reason.
	// MaxReasons is how many exchanges are named that wait for replies.
	MaxMissed  = 64
	MaxNamed   = 8
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
