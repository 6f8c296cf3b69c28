package protocol

import "github.com/signalbox/signalbox/protocol/rights"

// AccessChange changes the rights of principals, the roles, or the tokens. The request goes to the leader of the meta
// shard.
type AccessChange struct {
	Operation
	Verb AccessVerb
	// Principal gains or loses grants: token:NAME, cn:NAME, san:NAME, or anonymous.
	Principal []byte
	// Role is the name of the role to make, change or delete, with its Rules.
	Role  []byte
	Rules []rights.Rule
	// Grants are the grants of a new token, or the grant to give or to revoke. A revocation without a grant revokes all
	// grants.
	Grants []rights.Grant
	// Hash is the SHA-256 of the secret of a new token. From the wall clock ExpiresMillis on the token lets in no
	// client; 0 for never.
	Hash          []byte
	ExpiresMillis uint64
}

func (m *AccessChange) requestFields(c *codec) {
	m.Operation.fields(c)
	enum(c, "verb", &m.Verb)
	c.text("principal", &m.Principal, MaxPrincipalBytes)
	c.text("role", &m.Role, MaxAccessNameBytes)
	values(c, "rules", &m.Rules, rights.MaxRules, (*rights.Rule).Fields)
	values(c, "grants", &m.Grants, rights.MaxGrants, (*rights.Grant).Fields)
	c.bytes("hash", &m.Hash, MaxHashBytes)
	c.uint("expires_ms", &m.ExpiresMillis)
}

// AccessChangeAnswer answers an AccessChange.
type AccessChangeAnswer struct {
	// Existed: the change was in force before, and nothing was changed.
	Existed bool
	// Since goes into numbered requests that the client sends for the first time after this answer.
	Since uint64
}

func (m *AccessChangeAnswer) answerFields(c *codec) {
	c.bool("existed", &m.Existed)
	c.uint("since", &m.Since)
}

// AccessVerb says what an AccessChange does.
type AccessVerb uint8

const (
	// AccessGrantRole gives a principal a role.
	AccessGrantRole AccessVerb = 1
	// AccessRevokeRole takes a role, or all roles, from a principal.
	AccessRevokeRole AccessVerb = 2
	// AccessSetRole makes a role, or replaces the rules of a role.
	AccessSetRole AccessVerb = 3
	// AccessDeleteRole deletes a role. No principal may have the role.
	AccessDeleteRole AccessVerb = 4
	// AccessCreateToken makes a token.
	AccessCreateToken AccessVerb = 5
	// AccessRevokeToken ends a token.
	AccessRevokeToken AccessVerb = 6
)

// String returns the verb as the docs write it, or the number of an unknown verb.
func (v AccessVerb) String() string {
	return nameOf(v, "ACCESS_VERB", "UNKNOWN", "GRANT", "REVOKE", "SET_ROLE", "DELETE_ROLE", "CREATE_TOKEN",
		"REVOKE_TOKEN")
}

// AccessList asks for the roles made by operators, or for the principals. A list is read in pages.
type AccessList struct {
	Roles bool
	After []byte // name of a role, or a principal
	Limit uint64
}

func (m *AccessList) requestFields(c *codec) {
	c.bool("roles", &m.Roles)
	c.text("after", &m.After, MaxPrincipalBytes)
	c.uint("limit", &m.Limit)
}

// AccessListAnswer answers an AccessList.
type AccessListAnswer struct {
	Roles      []rights.Role
	Principals []rights.Principal
	Next       []byte
	// Decided: the rights of anonymous clients were decided. Before that, hosts without a file of tokens allow
	// anonymous clients everything.
	Decided bool
}

func (m *AccessListAnswer) answerFields(c *codec) {
	values(c, "roles", &m.Roles, MaxPageItems, (*rights.Role).Fields)
	values(c, "principals", &m.Principals, MaxPageItems, (*rights.Principal).Fields)
	c.text("next", &m.Next, MaxPrincipalBytes)
	c.bool("decided", &m.Decided)
}

// AccessAsk asks whether a principal may do something, or which principals may.
type AccessAsk struct {
	Principal []byte // empty for all
	Path      []byte
	Object    []byte
	// Right is the right in question; of several rights one is enough.
	Right Right
}

func (m *AccessAsk) requestFields(c *codec) {
	c.text("principal", &m.Principal, MaxPrincipalBytes)
	c.text("path", &m.Path, MaxPathBytes)
	c.text("object", &m.Object, MaxNameBytes)
	c.uint("right", (*uint64)(&m.Right))
}

// AccessAskAnswer answers an AccessAsk.
type AccessAskAnswer struct {
	// Decisions has, for each principal with the right, a rule that gives the right; at most MaxPageItems.
	Decisions []rights.Decision
	// More: the list of decisions is not complete.
	More bool
}

func (m *AccessAskAnswer) answerFields(c *codec) {
	values(c, "decisions", &m.Decisions, MaxPageItems, (*rights.Decision).Fields)
	c.bool("more", &m.More)
}

// AccessDenials asks a host for the latest requests that the host refused for want of a right.
type AccessDenials struct {
	Limit uint64
}

func (m *AccessDenials) requestFields(c *codec) {
	c.uint("limit", &m.Limit)
}

// AccessDenialsAnswer answers an AccessDenials.
type AccessDenialsAnswer struct {
	HostName []byte
	// Denials are the latest denials, the newest first.
	Denials []rights.Denial
	// Total is the number of denials since the host started.
	Total uint64
}

func (m *AccessDenialsAnswer) answerFields(c *codec) {
	c.text("host_name", &m.HostName, MaxHostNameBytes)
	values(c, "denials", &m.Denials, MaxPageItems, (*rights.Denial).Fields)
	c.uint("total", &m.Total)
}

// Expiring is pushed before the token of the client expires, because the host closes the connection at that moment.
type Expiring struct {
	Token      []byte // name of the token
	LeftMillis uint64
}

func (m *Expiring) pushFields(c *codec) {
	c.text("token", &m.Token, MaxAccessNameBytes)
	c.uint("left_ms", &m.LeftMillis)
}
