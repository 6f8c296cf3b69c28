package protocol

import "github.com/signalbox/signalbox/protocol/host"

// The requests of operators about the hosts of a cluster. A request names a host by its name, or by its id in decimal
// digits. The host that leads the meta shard serves the requests, and all other hosts answer MOVED.

// Operation makes the cluster apply an operator's request at most once, and says who asks, and why.
type Operation struct {
	Idempotency Idempotency
	// Author and Reason are kept for people. The name of the client's token is kept beside the author.
	Author []byte `wire:"text MaxOperatorTextBytes"`
	Reason []byte `wire:"text MaxOperatorTextBytes"`
}

// HostUpdate does something with one host.
type HostUpdate struct {
	Operation
	Action HostAction
	Host   []byte `wire:"text MaxHostNameBytes"`
	// Force makes HostExpel expel an online host too.
	Force bool
	// Domain is the new failure domain of HostAlter: dc=a,rack=1.
	Domain []byte `wire:"text MaxDomainBytes"`
	// Successor is the name of the host that takes the place of Host, for HostReplace.
	Successor []byte `wire:"text MaxHostNameBytes"`
	// Weight is the new weight of HostWeigh, from 0 to 1000.
	Weight uint64
}

// HostUpdateAnswer answers a HostUpdate. The wish of the operator is on record, and the governor brings it about.
type HostUpdateAnswer struct {
	HostID uint64
	// Existed: the wish was on record before, and nothing was changed.
	Existed bool
	// Since goes into idempotent requests that the client sends for the first time after this answer.
	Since uint64
}

// HostAction is what an operator does with a host.
type HostAction uint8

// The actions.
const (
	HostActionUnknown HostAction = 0
	HostDrain         HostAction = 1 // the host hands over its leaderships and votes, and goes offline
	HostUndrain       HostAction = 2
	HostCordon        HostAction = 3 // the host gets no further replicas, votes and leaderships
	HostUncordon      HostAction = 4
	HostAlter         HostAction = 5 // the host gets another failure domain
	HostExpel         HostAction = 6 // the host leaves for ever
	HostReplace       HostAction = 7 // the host is expelled, and a successor takes its place
	HostSetWeight     HostAction = 8 // the host gets another weight
)

// String returns the action as the docs write it.
func (h HostAction) String() string {
	return nameOf(h, "HOST_ACTION", "UNKNOWN", "DRAIN", "UNDRAIN", "CORDON", "UNCORDON", "ALTER", "EXPEL", "REPLACE",
		"SET_WEIGHT")
}

// ShardTransferLeader asks for another leader of a shard; shard 0 is the meta shard. The governor tries for a minute.
type ShardTransferLeader struct {
	Operation
	ShardID uint64
	Host    []byte `wire:"text MaxHostNameBytes"`
}

// ShardTransferLeaderAnswer answers a ShardTransferLeader.
type ShardTransferLeaderAnswer struct {
	HostID  uint64
	Existed bool // the transfer was asked for already
	Since   uint64
}

// ShardRecover rebuilds a data shard whose majority is lost for good: the hosts of its lost voters are expelled, and
// the survivor with most of the log becomes the only replica of a new group.
type ShardRecover struct {
	Operation
	ShardID uint64
	// Empty: no host is left that has anything of the shard, and the shard begins without content.
	Empty bool
	// AcceptOverlap: nothing is rebuilt. The wait of a rebuilt shard ends, though clients may still
	// believe in what they held.
	AcceptOverlap bool
}

// ShardRecoverAnswer answers a ShardRecover.
type ShardRecoverAnswer struct {
	HostID uint64 // the host of the only replica
	Since  uint64
	// WaitMillis is for how long the shard grants nothing at the least, because LongestSession, if it is known, may be
	// believed in for LongestMillis. All are 0 for an accepted overlap.
	WaitMillis     uint64
	LongestMillis  uint64
	LongestSession uint64
}

// StepCancel ends an open step of the governor, or the delay after a failed step.
type StepCancel struct {
	Operation
	// StepID is the step, 0 where Subject names a subject with a delay.
	StepID  uint64
	Subject []byte `wire:"text MaxSubjectBytes"`
	// HoldMillis is how long the governor begins no step with the subject of the cancelled step.
	HoldMillis uint64 `wire:"millis MaxHoldMillis"`
}

// StepCancelAnswer answers a StepCancel.
type StepCancelAnswer struct {
	Existed bool // the step was over
	Since   uint64
}

// PolicySet asks for another policy of the governor in the place of the policy in force. FENCED says that From is no
// longer in force. The answer to a ClusterDescribe has the policy in force.
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

// JoinToken makes, lists or revokes tokens, each of which lets one host join.
type JoinToken struct {
	Operation
	Action TokenAction
	// ID names the token, and Hash is the SHA-256 of its secret. The client generates both, and no host has the
	// secret.
	ID   []byte `wire:"text MaxWordBytes"`
	Hash []byte `wire:"bytes MaxHashBytes"`
	// ValidMillis is how long the token is good.
	ValidMillis uint64
}

// JoinTokenAnswer answers a JoinToken.
type JoinTokenAnswer struct {
	// Tokens are all tokens for TokenList, and the new token for TokenCreate.
	Tokens  []host.JoinToken `wire:"most MaxPageItems"`
	Existed bool
	Since   uint64
	// Addresses are addresses of hosts of the cluster for a newcomer. Authority is the SHA-256 of the certificate that
	// the hosts show at the addresses, or of the certificate's authority; empty for hosts without TLS.
	Addresses Addresses
	Authority []byte `wire:"bytes MaxHashBytes"`
}

// TokenAction says what a JoinToken does with tokens for joining.
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
