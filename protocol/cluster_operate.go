package protocol

import "github.com/signalbox/signalbox/protocol/host"

// Operators' requests about a cluster's hosts. A request names a host by its name, or by its id in decimal digits. The
// meta shard's leader serves the requests, and all other hosts answer MOVED.

// Operation makes the cluster apply an operator's request at most once, and records the author and the reason.
type Operation struct {
	Idempotency Idempotency
	// Author and Reason are kept in the audit log, for people. The name of the client's token is kept beside the
	// author.
	Author []byte `wire:"text MaxOperatorTextBytes"`
	Reason []byte `wire:"text MaxOperatorTextBytes"`
}

// HostUpdate changes one host.
type HostUpdate struct {
	Operation
	Action HostAction
	Host   []byte `wire:"text MaxHostNameBytes"`
	// Force makes HostExpel expel an online host too.
	Force bool
	// Domain is the new failure domain for HostAlter: dc=a,rack=1.
	Domain []byte `wire:"text MaxDomainBytes"`
	// Successor is the name of the host that replaces Host, for HostReplace.
	Successor []byte `wire:"text MaxHostNameBytes"`
	// Weight is the new weight for HostWeigh, from 0 to 1000.
	Weight uint64
}

// HostUpdateAnswer answers a HostUpdate. The operator's request is on record, and the governor carries it out.
type HostUpdateAnswer struct {
	HostID uint64
	// Existed is set if the request was on record before, and nothing was changed.
	Existed bool
	// Since is for idempotent requests the client sends for the first time after this answer.
	Since uint64
}

// HostAction selects what an operator does with a host.
type HostAction uint8

// The actions.
const (
	HostActionUnknown HostAction = 0
	HostDrain         HostAction = 1 // the host transfers its leaderships and votes, and goes offline
	HostUndrain       HostAction = 2
	HostCordon        HostAction = 3 // the host gets no further replicas, votes and leaderships
	HostUncordon      HostAction = 4
	HostAlter         HostAction = 5 // the host gets a different failure domain
	HostExpel         HostAction = 6 // the host leaves permanently
	HostReplace       HostAction = 7 // the host is expelled, and a successor replaces it
	HostSetWeight     HostAction = 8 // the host gets a different weight
)

// String returns the action as the docs write it.
func (h HostAction) String() string {
	return nameOf(h, "HOST_ACTION", "UNKNOWN", "DRAIN", "UNDRAIN", "CORDON", "UNCORDON", "ALTER", "EXPEL", "REPLACE",
		"SET_WEIGHT")
}

// ShardTransferLeader asks to transfer a shard's leadership; shard 0 is the meta shard. The governor tries for a
// minute.
type ShardTransferLeader struct {
	Operation
	ShardID uint64
	Host    []byte `wire:"text MaxHostNameBytes"`
}

// ShardTransferLeaderAnswer answers a ShardTransferLeader.
type ShardTransferLeaderAnswer struct {
	HostID  uint64
	Existed bool // the transfer was requested already
	Since   uint64
}

// ShardRecover rebuilds a data shard that has permanently lost its majority: the hosts with its lost voters are
// expelled, and the survivor with the longest log becomes the only replica in a new group.
type ShardRecover struct {
	Operation
	ShardID uint64
	// Empty is set if no remaining host has anything of the shard, so the shard begins without content.
	Empty bool
	// AcceptOverlap rebuilds nothing. It ends a rebuilt shard's wait, although clients may still believe in their
	// holdings.
	AcceptOverlap bool
}

// ShardRecoverAnswer answers a ShardRecover.
type ShardRecoverAnswer struct {
	HostID uint64 // the only replica's host
	Since  uint64
	// WaitMillis is how long the shard grants nothing, at least, because clients may rely on LongestSession, if known,
	// for LongestMillis. All are 0 for an accepted overlap.
	WaitMillis     uint64
	LongestMillis  uint64
	LongestSession uint64
}

// SlotMove orders or cancels the move of a slot to another data shard. The order stands until the shard owns the slot.
type SlotMove struct {
	Operation
	Slot    uint64
	ShardID uint64 // the shard that gets the slot
	// Large allows a slot of up to 8 MiB instead of 1 MiB, with a longer pause for the slot's clients.
	Large bool
	// Cancel drops the order, whatever ShardID is. An attempt in progress ends by itself.
	Cancel bool
}

// SlotMoveAnswer answers a SlotMove.
type SlotMoveAnswer struct {
	Existed bool // the shard owns the slot, or the order was on record; to cancel: there was no order
	Since   uint64
}

// ShardUpdate adds, removes or weighs data shards. The governor carries out the order: an added shard takes slots once
// its voters live, and a shard is removed once its slots have moved away.
type ShardUpdate struct {
	Operation
	Action ShardAction
	// Count is the number of shards to add.
	Count uint64
	// ShardIDs are the shards to remove, or the one to weigh.
	ShardIDs ShardIDs
	// Weight is the new weight for ShardSetWeight, from 0 to 1000.
	Weight uint64
}

// ShardUpdateAnswer answers a ShardUpdate.
type ShardUpdateAnswer struct {
	// ShardIDs are the added shards, or those of the request.
	ShardIDs ShardIDs
	Existed  bool // the order was on record before
	Since    uint64
}

// ShardAction selects what an operator does with data shards.
type ShardAction uint8

// The actions.
const (
	ShardActionUnknown ShardAction = 0
	ShardAdd           ShardAction = 1
	ShardRemove        ShardAction = 2
	ShardSetWeight     ShardAction = 3
)

// String returns the action as the docs write it.
func (s ShardAction) String() string {
	return nameOf(s, "SHARD_ACTION", "UNKNOWN", "ADD", "REMOVE", "SET_WEIGHT")
}

// Rebalance gives an order about the moves of slots that follow from the shards' weights.
type Rebalance struct {
	Operation
	Action RebalanceAction
}

// RebalanceAnswer answers a Rebalance.
type RebalanceAnswer struct {
	Existed bool // the order was in force already
	Since   uint64
}

// RebalanceAction is an operator's order about rebalancing.
type RebalanceAction uint8

// The orders.
const (
	RebalanceUnknown RebalanceAction = 0
	RebalanceResume  RebalanceAction = 1
	// RebalancePause begins no further move, and finishes those in progress.
	RebalancePause RebalanceAction = 2
	// RebalanceNow ignores pacing until the slots are where the weights want them.
	RebalanceNow RebalanceAction = 3
	// RebalanceCancel pauses, and has the moves in progress refused. A slot that the target has opened stays there.
	RebalanceCancel RebalanceAction = 4
)

// String returns the order as the docs write it.
func (r RebalanceAction) String() string {
	return nameOf(r, "REBALANCE_ACTION", "UNKNOWN", "RESUME", "PAUSE", "NOW", "CANCEL")
}

// StepCancel ends an open governor step, or the delay after a failed step.
type StepCancel struct {
	Operation
	// StepID is the step, 0 if Subject names a subject with a delay.
	StepID  uint64
	Subject []byte `wire:"text MaxSubjectBytes"`
	// HoldMillis is how long the governor begins no step on the cancelled step's subject.
	HoldMillis uint64 `wire:"millis MaxHoldMillis"`
}

// StepCancelAnswer answers a StepCancel.
type StepCancelAnswer struct {
	Existed bool // the step was over
	Since   uint64
}

// PolicySet replaces the governor's policy. FENCED means that From is no longer in force. The answer to a
// ClusterDescribe has the policy in force.
type PolicySet struct {
	Operation
	From host.Policy
	To   host.Policy
}

// PolicySetAnswer answers a PolicySet.
type PolicySetAnswer struct {
	Existed bool // the policy was in force already
	Since   uint64
}

// JoinToken creates, lists or revokes join tokens; each token lets one host join.
type JoinToken struct {
	Operation
	Action TokenAction
	// ID identifies the token, and Hash is the SHA-256 of its secret. The client generates both, and hosts never have
	// the secret.
	ID   []byte `wire:"text MaxWordBytes"`
	Hash []byte `wire:"bytes MaxHashBytes"`
	// ValidMillis is how long the token is valid.
	ValidMillis uint64
}

// JoinTokenAnswer answers a JoinToken.
type JoinTokenAnswer struct {
	// Tokens are all tokens for TokenList, and the new token for TokenCreate.
	Tokens  []host.JoinToken `wire:"most MaxPageItems"`
	Existed bool
	Since   uint64
	// Addresses are host addresses in the cluster, for a newcomer. Authority is the SHA-256 of the certificate the
	// hosts present at the addresses, or of its authority's certificate; empty for hosts without TLS.
	Addresses Addresses
	Authority []byte `wire:"bytes MaxHashBytes"`
}

// TokenAction selects what a JoinToken request does.
type TokenAction uint8

// The actions.
const (
	TokenActionUnknown TokenAction = 0
	TokenCreate        TokenAction = 1
	TokenRevoke        TokenAction = 2
	TokenList          TokenAction = 3
)

// String returns the action as the docs write it.
func (t TokenAction) String() string {
	return nameOf(t, "TOKEN_ACTION", "UNKNOWN", "CREATE", "REVOKE", "LIST")
}

// Addresses is a list of addresses.
type Addresses = List[Address, *Address]

// Address is an address as an item of a list.
type Address []byte

func (a *Address) item(c *codec) { c.text("", (*[]byte)(a), MaxAddressBytes) }

// ShardIDs is a list of data shard ids.
type ShardIDs = List[ShardID, *ShardID]

// ShardID is a data shard's id as an item of a list.
type ShardID uint64

func (s *ShardID) item(c *codec) { c.uint("", (*uint64)(s)) }
