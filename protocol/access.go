package protocol

import "github.com/signalbox/signalbox/protocol/rights"

// AccessChange changes who may do what. It goes to the leader of the meta shard.
type AccessChange struct {
	Operation
	Verb AccessVerb
	// Principal is who gets or loses something: token:NAME, cn:NAME, san:NAME, or anonymous.
	Principal []byte
	// Role is the name of the role that is made, changed or deleted, with its Rules.
	Role  []byte
	Rules []rights.Rule
	// Grants are what a new token gets, or the one that is granted or revoked. To revoke none is to revoke all.
	Grants []rights.Grant
	// Hash is the SHA-256 of the secret of a new token, ExpiresMillis the wall clock from which on the token lets in no
	// more; 0 for never.
	Hash          []byte
	ExpiresMillis uint64
}

// Kind returns KindAccessChange.
func (*AccessChange) Kind() Kind { return KindAccessChange }

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
	// Existed: it was so before, and nothing was changed.
	Existed bool
	// Since is for numbered requests that are sent first from now on.
	Since uint64
}

// Kind returns the kind of the answer to an AccessChange.
func (*AccessChangeAnswer) Kind() Kind { return KindAccessChange.Answer() }

func (m *AccessChangeAnswer) answerFields(c *codec) {
	c.bool("existed", &m.Existed)
	c.uint("since", &m.Since)
}

// AccessVerb is what an AccessChange does.
type AccessVerb uint8

const (
	// AccessGrantRole gives a principal a role.
	AccessGrantRole AccessVerb = 1
	// AccessRevokeRole takes one from a principal, or all.
	AccessRevokeRole AccessVerb = 2
	// AccessSetRole makes a role, or gives it other rules.
	AccessSetRole AccessVerb = 3
	// AccessDeleteRole deletes a role that no principal has.
	AccessDeleteRole AccessVerb = 4
	// AccessCreateToken makes a token.
	AccessCreateToken AccessVerb = 5
	// AccessRevokeToken ends a token.
	AccessRevokeToken AccessVerb = 6
)

// String returns the verb as the docs write it, or its number where it is not known here.
func (v AccessVerb) String() string {
	return nameOf(v, "ACCESS_VERB", "UNKNOWN", "GRANT", "REVOKE", "SET_ROLE", "DELETE_ROLE", "CREATE_TOKEN",
		"REVOKE_TOKEN")
}

// AccessList asks for the roles that were made, or for the principals. A list is read in pages.
type AccessList struct {
	Roles bool
	After []byte // a name of a role, or a principal
	Limit uint64
}

// Kind returns KindAccessList.
func (*AccessList) Kind() Kind { return KindAccessList }

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
	// Decided: it was said what anonymous clients may do. Until then hosts without a file of tokens let them do
	// everything.
	Decided bool
}

// Kind returns the kind of the answer to an AccessList.
func (*AccessListAnswer) Kind() Kind { return KindAccessList.Answer() }

func (m *AccessListAnswer) answerFields(c *codec) {
	values(c, "roles", &m.Roles, MaxPageItems, (*rights.Role).Fields)
	values(c, "principals", &m.Principals, MaxPageItems, (*rights.Principal).Fields)
	c.text("next", &m.Next, MaxPrincipalBytes)
	c.bool("decided", &m.Decided)
}

// AccessAsk asks who may do something: one principal, or all that may.
type AccessAsk struct {
	Principal []byte // empty for all
	Path      []byte
	Object    []byte
	// Right is what is asked about; any of several is enough.
	Right Right
}

// Kind returns KindAccessAsk.
func (*AccessAsk) Kind() Kind { return KindAccessAsk }

func (m *AccessAsk) requestFields(c *codec) {
	c.text("principal", &m.Principal, MaxPrincipalBytes)
	c.text("path", &m.Path, MaxPathBytes)
	c.text("object", &m.Object, MaxNameBytes)
	c.uint("right", (*uint64)(&m.Right))
}

// AccessAskAnswer answers an AccessAsk.
type AccessAskAnswer struct {
	// Decisions has a rule that allows it for each principal that may; at most MaxPageItems.
	Decisions []rights.Decision
	// More: there are more than are shown.
	More bool
}

// Kind returns the kind of the answer to an AccessAsk.
func (*AccessAskAnswer) Kind() Kind { return KindAccessAsk.Answer() }

func (m *AccessAskAnswer) answerFields(c *codec) {
	values(c, "decisions", &m.Decisions, MaxPageItems, (*rights.Decision).Fields)
	c.bool("more", &m.More)
}

// AccessDenials asks a host for the latest requests that it has refused for want of a right.
type AccessDenials struct {
	Limit uint64
}

// Kind returns KindAccessDenials.
func (*AccessDenials) Kind() Kind { return KindAccessDenials }

func (m *AccessDenials) requestFields(c *codec) {
	c.uint("limit", &m.Limit)
}

// AccessDenialsAnswer answers an AccessDenials.
type AccessDenialsAnswer struct {
	HostName []byte
	// Denials are the latest, the newest first.
	Denials []rights.Denial
	// Total is how many there were since the host started.
	Total uint64
}

// Kind returns the kind of the answer to an AccessDenials.
func (*AccessDenialsAnswer) Kind() Kind { return KindAccessDenials.Answer() }

func (m *AccessDenialsAnswer) answerFields(c *codec) {
	c.text("host_name", &m.HostName, MaxHostNameBytes)
	values(c, "denials", &m.Denials, MaxPageItems, (*rights.Denial).Fields)
	c.uint("total", &m.Total)
}

// Expiring is pushed before the token of the client expires: then the host closes the connection.
type Expiring struct {
	Token      []byte // its name
	LeftMillis uint64
}

// Kind returns KindExpiring.
func (*Expiring) Kind() Kind { return KindExpiring }

func (m *Expiring) pushFields(c *codec) {
	c.text("token", &m.Token, MaxAccessNameBytes)
	c.uint("left_ms", &m.LeftMillis)
}
