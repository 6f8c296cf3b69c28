package protocol

import "github.com/signalbox/signalbox/protocol/host"

// What operators do with the hosts of a cluster. A host is named by its name, or by its id in decimal digits. The host
// that leads the meta shard serves the request, all others answer MOVED.

// Operation makes an operator's request one that is carried out once, and says who asks for it, and why.
type Operation struct {
	Numbered Numbered
	// Author and Reason are kept for people. The name of the token that is used is kept beside the author.
	Author []byte
	Reason []byte
}

func (o *Operation) fields(c *codec) {
	c.record("numbered", o.Numbered.fields)
	c.text("author", &o.Author, MaxOperatorTextBytes)
	c.text("reason", &o.Reason, MaxOperatorTextBytes)
}

// HostOperate does something with one host.
type HostOperate struct {
	Operation
	Verb HostVerb
	Host []byte
	// Force: HostExpel, though the host is online.
	Force bool
	// Domain is the new failure domain of HostAlter: dc=a,rack=1.
	Domain []byte
	// Successor is the name of the host that takes the place of the other one: of HostReplace.
	Successor []byte
}

// Kind returns KindHostOperate.
func (*HostOperate) Kind() Kind { return KindHostOperate }

func (m *HostOperate) requestFields(c *codec) {
	m.Operation.fields(c)
	enum(c, "verb", &m.Verb)
	c.text("host", &m.Host, MaxHostNameBytes)
	c.bool("force", &m.Force)
	c.text("domain", &m.Domain, MaxDomainBytes)
	c.text("successor", &m.Successor, MaxHostNameBytes)
}

// HostOperateAnswer answers a HostOperate. What was asked for is on record; the governor brings it about.
type HostOperateAnswer struct {
	HostID uint64
	// Existed: it was so before, and nothing was changed.
	Existed bool
	// Since is for numbered requests that are sent first from now on.
	Since uint64
}

// Kind returns the kind of the answer to a HostOperate.
func (*HostOperateAnswer) Kind() Kind { return KindHostOperate.Answer() }

func (m *HostOperateAnswer) answerFields(c *codec) {
	c.uint("host_id", &m.HostID)
	c.bool("existed", &m.Existed)
	c.uint("since", &m.Since)
}

// HostVerb is what an operator does with a host.
type HostVerb uint8

// The verbs.
const (
	HostVerbUnknown HostVerb = 0
	HostDrain       HostVerb = 1 // it hands over what it leads and votes in, and goes offline
	HostUndrain     HostVerb = 2
	HostCordon      HostVerb = 3 // it gets no more replicas, votes and leaderships than it has
	HostUncordon    HostVerb = 4
	HostAlter       HostVerb = 5 // it gets another failure domain
	HostExpel       HostVerb = 6 // it leaves for ever
	HostReplace     HostVerb = 7 // it is expelled, and another one takes its place
)

// String returns the verb as the docs write it.
func (v HostVerb) String() string {
	return nameOf(v, "HOST_VERB", "UNKNOWN", "DRAIN", "UNDRAIN", "CORDON", "UNCORDON", "ALTER", "EXPEL", "REPLACE")
}

// ShardTransfer asks for another leader of a shard, which is 0 for the meta shard. The governor tries for a minute.
type ShardTransfer struct {
	Operation
	ShardID uint64
	Host    []byte
}

// Kind returns KindShardTransfer.
func (*ShardTransfer) Kind() Kind { return KindShardTransfer }

func (m *ShardTransfer) requestFields(c *codec) {
	m.Operation.fields(c)
	c.uint("shard_id", &m.ShardID)
	c.text("host", &m.Host, MaxHostNameBytes)
}

// ShardTransferAnswer answers a ShardTransfer.
type ShardTransferAnswer struct {
	HostID  uint64
	Existed bool // it was asked for already
	Since   uint64
}

// Kind returns the kind of the answer to a ShardTransfer.
func (*ShardTransferAnswer) Kind() Kind { return KindShardTransfer.Answer() }

func (m *ShardTransferAnswer) answerFields(c *codec) {
	c.uint("host_id", &m.HostID)
	c.bool("existed", &m.Existed)
	c.uint("since", &m.Since)
}

// StepCancel ends an open step of the governor, or the delay of what has failed.
type StepCancel struct {
	Operation
	// StepID is the step, 0 where Subject is what waits.
	StepID  uint64
	Subject []byte
	// HoldMillis is how long the governor begins no other step with the subject of the one that was cancelled.
	HoldMillis uint64
}

// Kind returns KindStepCancel.
func (*StepCancel) Kind() Kind { return KindStepCancel }

func (m *StepCancel) requestFields(c *codec) {
	m.Operation.fields(c)
	c.uint("step_id", &m.StepID)
	c.text("subject", &m.Subject, MaxSubjectBytes)
	c.millis("hold_ms", &m.HoldMillis, MaxHoldMillis)
}

// StepCancelAnswer answers a StepCancel.
type StepCancelAnswer struct {
	Existed bool // the step was over
	Since   uint64
}

// Kind returns the kind of the answer to a StepCancel.
func (*StepCancelAnswer) Kind() Kind { return KindStepCancel.Answer() }

func (m *StepCancelAnswer) answerFields(c *codec) {
	c.bool("existed", &m.Existed)
	c.uint("since", &m.Since)
}

// Policy asks for another policy of the governor in the place of the one that is in force. FENCED says that another one
// is by now. ClusterDescribe has the one that is.
type Policy struct {
	Operation
	From host.Policy
	To   host.Policy
}

// Kind returns KindPolicy.
func (*Policy) Kind() Kind { return KindPolicy }

func (m *Policy) requestFields(c *codec) {
	m.Operation.fields(c)
	c.value("from", &m.From)
	c.value("to", &m.To)
}

// PolicyAnswer answers a Policy.
type PolicyAnswer struct {
	Existed bool // it was in force already
	Since   uint64
}

// Kind returns the kind of the answer to a Policy.
func (*PolicyAnswer) Kind() Kind { return KindPolicy.Answer() }

func (m *PolicyAnswer) answerFields(c *codec) {
	c.bool("existed", &m.Existed)
	c.uint("since", &m.Since)
}

// Token makes, lists or revokes tokens, each of which lets one host join.
type Token struct {
	Operation
	Verb TokenVerb
	// ID names the token, and Hash is the SHA-256 of its secret: the client has drawn both, and no host has the
	// secret.
	ID   []byte
	Hash []byte
	// ValidMillis is for how long the token is good.
	ValidMillis uint64
}

// Kind returns KindToken.
func (*Token) Kind() Kind { return KindToken }

func (m *Token) requestFields(c *codec) {
	m.Operation.fields(c)
	enum(c, "verb", &m.Verb)
	c.text("id", &m.ID, MaxWordBytes)
	c.bytes("hash", &m.Hash, MaxHashBytes)
	c.uint("valid_ms", &m.ValidMillis)
}

// TokenAnswer answers a Token.
type TokenAnswer struct {
	// Tokens are all of TokenList, and the one of TokenCreate.
	Tokens  []host.JoinToken
	Existed bool
	Since   uint64
	// Addresses are where a newcomer reaches hosts of the cluster, and Authority is the SHA-256 of the certificate,
	// or of that of its authority, which they show there; empty where they speak without TLS.
	Addresses Addresses
	Authority []byte
}

// Kind returns the kind of the answer to a Token.
func (*TokenAnswer) Kind() Kind { return KindToken.Answer() }

func (m *TokenAnswer) answerFields(c *codec) {
	values(c, "tokens", &m.Tokens, MaxPageItems, (*host.JoinToken).Fields)
	c.bool("existed", &m.Existed)
	c.uint("since", &m.Since)
	m.Addresses.list(c, "addresses")
	c.bytes("authority", &m.Authority, MaxHashBytes)
}

// TokenVerb is what is done with tokens for joining.
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

// Address is one of a list.
type Address []byte

func (a *Address) item(c *codec) { c.text("", (*[]byte)(a), MaxAddressBytes) }
