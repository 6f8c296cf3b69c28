package protocol

import kind "github.com/signalbox/signalbox/protocol/process"

// ProcessSend sends a request to epoch members: into the inboxes of the whole audience, or into no inbox.
type ProcessSend struct {
	Mutation
	NodeID uint64
	Name   []byte `wire:"text MaxNameBytes"`
	Part
	Audience kind.Audience
	// To are the member ids, if the audience names members.
	To      OrderIDs
	Payload []byte `wire:"bytes MaxProcessPayloadBytes"`
	// TimeoutMillis is how long the sender waits for replies; 0 waits until the round ends.
	TimeoutMillis uint64
}

// ProcessSendAnswer answers a ProcessSend.
type ProcessSendAnswer struct {
	// Exchange identifies the request and its replies. The replies arrive as an item in the sender's inbox.
	Exchange uint64
}

// ProcessReply answers a request.
type ProcessReply struct {
	Mutation
	NodeID uint64
	Name   []byte `wire:"text MaxNameBytes"`
	Part
	Exchange uint64
	// Failed is set if the member could not serve the request; Data is then a text with the cause.
	Failed bool
	Data   []byte `wire:"bytes MaxProcessPayloadBytes"`
}

// ProcessReplyAnswer answers a ProcessReply.
type ProcessReplyAnswer struct{}

// InboxAck frees the inbox items the member has handled.
type InboxAck struct {
	Mutation
	NodeID   uint64
	Name     []byte `wire:"text MaxNameBytes"`
	MemberID uint64
	Ack      uint64 // up to this seq
}

// InboxAckAnswer answers an InboxAck.
type InboxAckAnswer struct{}

// InboxOpen opens a member's inbox: the host pushes the items after After over this connection, including items already
// in the inbox and all later items. The request goes to the leader of the object's shard, and again to each later
// leader. Only the last connection that asked has a member's inbox.
type InboxOpen struct {
	SessionID uint64
	NodeID    uint64
	Name      []byte `wire:"text MaxNameBytes"`
	MemberID  uint64
	// After is the last seq the client has received.
	After uint64
}

// InboxOpenAnswer answers an InboxOpen, before the pushes.
type InboxOpenAnswer struct {
	// Acked is the seq up to which the inbox was acknowledged, LastSeq the inbox's last seq so far.
	Acked   uint64
	LastSeq uint64
}

// Inbox is pushed with items for a member to handle, in seq order. A client skips a seq it already has.
type Inbox struct {
	SessionID uint64
	NodeID    uint64
	Name      []byte `wire:"text MaxNameBytes"`
	MemberID  uint64
	Items     Items
	// End is a success while more items may come over this connection. NOT_FOUND means that the member has left, with
	// the reason; BAD_SESSION that another connection has the inbox; any other status that the client must open the
	// inbox again.
	End Result
}

// Item is an inbox item for a member to handle.
type Item struct {
	Seq   uint64
	Kind  kind.ItemKind
	Epoch uint64
	// For ItemPrepare: the number of epoch members, and the coordinator's id.
	Members     uint64
	Coordinator uint64
	// For ItemRequest and ItemEnd: the exchange, and the request's sender.
	Exchange uint64
	From     uint64
	Payload  []byte `wire:"bytes MaxProcessPayloadBytes"` // ItemRequest, and the result for ItemComplete
	// For ItemEnd: why the exchange ended, and replies in arrival order. The last part, with the flag Last, has the
	// number of missing replies, and the ids of the first missing members.
	Outcome kind.Outcome
	Replies Replies
	Last    bool
	Missing uint64
	Missed  OrderIDs
}

// Items is a list of items.
type Items = List[Item, *Item]

// Reply is a member's reply to a request.
type Reply struct {
	From   uint64
	Failed bool   // Data is a text with the cause
	Data   []byte `wire:"bytes MaxProcessPayloadBytes"`
}

// Replies is a list of replies.
type Replies = List[Reply, *Reply]
