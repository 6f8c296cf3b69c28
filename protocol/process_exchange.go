package protocol

import kind "github.com/signalbox/signalbox/protocol/process"

// ProcessSend sends a request to members of the epoch: into the inboxes of the whole audience, or into no inbox.
type ProcessSend struct {
	Mutation
	NodeID uint64
	Name   []byte `wire:"text MaxNameBytes"`
	Part
	Audience kind.Audience
	// To are the ids of the members of the audience, where the audience names members.
	To      OrderIDs
	Payload []byte `wire:"bytes MaxProcessPayloadBytes"`
	// TimeoutMillis is how long the sender waits for replies; 0 is until the round ends.
	TimeoutMillis uint64
}

// ProcessSendAnswer answers a ProcessSend.
type ProcessSendAnswer struct {
	// Exchange names the exchange of the request and its replies. The replies come as an item of the sender's inbox.
	Exchange uint64
}

// ProcessReply answers a request.
type ProcessReply struct {
	Mutation
	NodeID uint64
	Name   []byte `wire:"text MaxNameBytes"`
	Part
	Exchange uint64
	// Failed: the member could not serve the request, and Data is a text with the cause.
	Failed bool
	Data   []byte `wire:"bytes MaxProcessPayloadBytes"`
}

// ProcessReplyAnswer answers a ProcessReply.
type ProcessReplyAnswer struct{}

// InboxAck frees the items of the inbox that the member has handled.
type InboxAck struct {
	Mutation
	NodeID   uint64
	Name     []byte `wire:"text MaxNameBytes"`
	MemberID uint64
	Ack      uint64 // up to this seq
}

// InboxAckAnswer answers an InboxAck.
type InboxAckAnswer struct{}

// InboxOpen opens the inbox of a member: the host pushes the items after After over this connection, both the items
// already in the inbox and all later items. The request goes to the leader of the object's shard, and again to each
// later leader. Only the last connection that asked has a member's inbox.
type InboxOpen struct {
	SessionID uint64
	NodeID    uint64
	Name      []byte `wire:"text MaxNameBytes"`
	MemberID  uint64
	// After is the last seq that the client has.
	After uint64
}

// InboxOpenAnswer answers an InboxOpen, and comes before the pushes.
type InboxOpenAnswer struct {
	// Acked is the seq up to which the inbox was acknowledged, LastSeq the last seq that the inbox has had.
	Acked   uint64
	LastSeq uint64
}

// Inbox is pushed with items for a member to handle, in the order of seq. A client passes over a seq that the client
// already has.
type Inbox struct {
	SessionID uint64
	NodeID    uint64
	Name      []byte `wire:"text MaxNameBytes"`
	MemberID  uint64
	Items     Items
	// End is a success while more items may come over this connection. NOT_FOUND says that the member has left, and
	// why; BAD_SESSION that another connection has the inbox; every other status that the client has to open the inbox
	// again.
	End Result
}

// Item is an item of an inbox, for a member to handle.
type Item struct {
	Seq   uint64
	Kind  kind.ItemKind
	Epoch uint64
	// Of ItemPrepare: the number of the epoch's members, and the id of the coordinator.
	Members     uint64
	Coordinator uint64
	// Of ItemRequest and ItemEnd: the exchange, and the sender of the request.
	Exchange uint64
	From     uint64
	Payload  []byte `wire:"bytes MaxProcessPayloadBytes"` // of ItemRequest, and the result of ItemComplete
	// Of ItemEnd: why the exchange ended, and replies in the order of arrival. The last part, with the flag Last, has
	// the number of missing replies, and the ids of the first missing members.
	Outcome kind.Outcome
	Replies Replies
	Last    bool
	Missing uint64
	Missed  OrderIDs
}

// Items is a list of items.
type Items = List[Item, *Item]

// Reply is the reply of a member to a request.
type Reply struct {
	From   uint64
	Failed bool   // Data is a text with the cause
	Data   []byte `wire:"bytes MaxProcessPayloadBytes"`
}

// Replies is a list of replies.
type Replies = List[Reply, *Reply]
