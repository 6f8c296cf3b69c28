package protocol

import "github.com/signalbox/signalbox/protocol/host"

// The requests of operators about the hosts of a cluster. A request names a host by its name, or by its id in decimal
// digits. The host that leads the meta shard serves the requests, and all other hosts answer MOVED.

// Operation makes the cluster apply an operator's request at most once, and says who asks, and why.
type Operation struct {
	Numbered Numbered
	// Author and Reason are kept for people. The name of the client's token is kept beside the author.
	Author []byte `wire:"text MaxOperatorTextBytes"`
	Reason []byte `wire:"text MaxOperatorTextBytes"`
}

// HostOperate does something with one host.
type HostOperate struct {
	Operation
	Verb HostVerb
	Host []byte `wire:"text MaxHostNameBytes"`
	// Force makes HostExpel expel an online host too.
	Force bool
	// Domain is the new failure domain of HostAlter: dc=a,rack=1.
	Domain []byte `wire:"text MaxDomainBytes"`
	// Successor is the name of the host that takes the place of Host, for HostReplace.
	Successor []byte `wire:"text MaxHostNameBytes"`
	// Weight is the new weight of HostWeigh, from 0 to 1000.
	Weight uint64
}

// HostOperateAnswer answers a HostOperate. The wish of the operator is on record, and the governor brings it about.
type HostOperateAnswer struct {
	HostID uint64
	// Existed: the wish was on record before, and nothing was changed.
	Existed bool
	// Since goes into numbered requests that the client sends for the first time after this answer.
	Since uint64
}

// HostVerb is what an operator does with a host.
type HostVerb uint8

// The verbs.
const (
	HostVerbUnknown HostVerb = 0
	HostDrain       HostVerb = 1 // the host hands over its leaderships and votes, and goes offline
	HostUndrain     HostVerb = 2
	HostCordon      HostVerb = 3 // the host gets no further replicas, votes and leaderships
	HostUncordon    HostVerb = 4
	HostAlter       HostVerb = 5 // the host gets another failure domain
	HostExpel       HostVerb = 6 // the host leaves for ever
	HostReplace     HostVerb = 7 // the host is expelled, and a successor takes its place
	HostWeigh       HostVerb = 8 // the host gets another weight
)

// String returns the verb as the docs write it.
func (v HostVerb) String() string {
	return nameOf(v, "HOST_VERB", "UNKNOWN", "DRAIN", "UNDRAIN", "CORDON", "UNCORDON", "ALTER", "EXPEL", "REPLACE",
		"WEIGH")
}

// ShardTransfer asks for another leader of a shard; shard 0 is the meta shard. The governor tries for a minute.
type ShardTransfer struct {
	Operation
	ShardID uint64
	Host    []byte `wire:"text MaxHostNameBytes"`
}

// ShardTransferAnswer answers a ShardTransfer.
type ShardTransferAnswer struct {
	HostID  uint64
	Existed bool // the transfer was asked for already
	Since   uint64
}

// ShardRecover makes a data shard anew whose majority is lost for good: the hosts of its lost voters are expelled, and
// the survivor with most of the log becomes the only replica of a new group.
type ShardRecover struct {
	Operation
	ShardID uint64
	// Empty: no host is left that has anything of the shard, and the shard begins without content.
	Empty bool
	// AcceptOverlap: nothing is made anew. The wait of a shard that was made anew ends, though clients may still
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

// Policy asks for another policy of the governor in the place of the policy in force. FENCED says that From is no
// longer in force. The answer to a ClusterDescribe has the policy in force.
type Policy struct {
	Operation
	From host.Policy
	To   host.Policy
}

// PolicyAnswer answers a Policy.
type PolicyAnswer struct {
	Existed bool // the policy was in force already
	Since   uint64
}

// Token makes, lists or revokes tokens, each of which lets one host join.
type Token struct {
	Operation
	Verb TokenVerb
	// ID names the token, and Hash is the SHA-256 of its secret. The client has drawn both, and no host has the
	// secret.
	ID   []byte `wire:"text MaxWordBytes"`
	Hash []byte `wire:"bytes MaxHashBytes"`
	// ValidMillis is how long the token is good.
	ValidMillis uint64
}

// TokenAnswer answers a Token.
type TokenAnswer struct {
	// Tokens are all tokens for TokenList, and the new token for TokenCreate.
	Tokens  []host.JoinToken `wire:"most MaxPageItems"`
	Existed bool
	Since   uint64
	// Addresses are addresses of hosts of the cluster for a newcomer. Authority is the SHA-256 of the certificate that
	// the hosts show at the addresses, or of the certificate's authority; empty for hosts without TLS.
	Addresses Addresses
	Authority []byte `wire:"bytes MaxHashBytes"`
}

// TokenVerb says what a Token does with tokens for joining.
type TokenVerb uint8

// The verbs.
const (
	TokenVerbUnknown TokenVerb = 0
	TokenCreate      TokenVerb = 1
	TokenRevoke      TokenVerb = 2
	TokenList        TokenVerb = 3
)

// String returns the verb as the docs write it.
func (v TokenVerb) String() string {
	return nameOf(v, "TOKEN_VERB", "UNKNOWN", "CREATE", "REVOKE", "LIST")
}

// Addresses is a list of addresses.
type Addresses = List[Address, *Address]

// Address is an address as an item of a list.
type Address []byte

func (a *Address) item(c *codec) { c.text("", (*[]byte)(a), MaxAddressBytes) }
