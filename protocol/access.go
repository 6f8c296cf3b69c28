package protocol

import "github.com/signalbox/signalbox/protocol/access"

// AccessChange changes the rights of principals, the roles, or the tokens. The request goes to the leader of the meta
// shard.
type AccessChange struct {
	Operation
	Action AccessAction
	// Principal gains or loses grants: token:NAME, cn:NAME, san:NAME, or anonymous.
	Principal []byte `wire:"text MaxPrincipalBytes"`
	// Role is the name of the role to make, change or delete, with its Rules.
	Role  []byte        `wire:"text MaxAccessNameBytes"`
	Rules []access.Rule `wire:"most access.MaxRules"`
	// Grants are the grants of a new token, or the grant to give or to revoke. A revocation without a grant revokes all
	// grants.
	Grants []access.Grant `wire:"most access.MaxGrants"`
	// Hash is the SHA-256 of the secret of a new token. From the wall clock ExpiresMillis on the token lets in no
	// client; 0 for never.
	Hash          []byte `wire:"bytes MaxHashBytes"`
	ExpiresMillis uint64
	// Roles and Principals are imported: they become what the lists say, and all others stay.
	Roles      []access.Role      `wire:"most MaxPageItems"`
	Principals []access.Principal `wire:"most MaxPageItems"`
}

// AccessChangeAnswer answers an AccessChange.
type AccessChangeAnswer struct {
	// Existed: the change was in force before, and nothing was changed.
	Existed bool
	// Since goes into idempotent requests that the client sends for the first time after this answer.
	Since uint64
}

// AccessAction says what an AccessChange does.
type AccessAction uint8

const (
	// AccessGrantRole gives a principal a role.
	AccessGrantRole AccessAction = 1
	// AccessRevokeRole takes a role, or all roles, from a principal.
	AccessRevokeRole AccessAction = 2
	// AccessSetRole makes a role, or replaces the rules of a role.
	AccessSetRole AccessAction = 3
	// AccessDeleteRole deletes a role. No principal may have the role.
	AccessDeleteRole AccessAction = 4
	// AccessCreateToken makes a token.
	AccessCreateToken AccessAction = 5
	// AccessRevokeToken ends a token.
	AccessRevokeToken AccessAction = 6
	// AccessImport sets roles and principals.
	AccessImport AccessAction = 7
)

// String returns the action as the docs write it, or the number of an unknown action.
func (a AccessAction) String() string {
	return nameOf(a, "ACCESS_ACTION", "UNKNOWN", "GRANT", "REVOKE", "SET_ROLE", "DELETE_ROLE", "CREATE_TOKEN",
		"REVOKE_TOKEN", "IMPORT")
}

// AccessList asks for the roles made by operators, or for the principals. A list is read in pages.
type AccessList struct {
	Roles bool
	After []byte `wire:"text MaxPrincipalBytes"` // name of a role, or a principal
	Limit uint64
	// Export asks for hashes of tokens, and takes the role root on /.
	Export bool
}

// AccessListAnswer answers an AccessList.
type AccessListAnswer struct {
	Roles      []access.Role      `wire:"most MaxPageItems"`
	Principals []access.Principal `wire:"most MaxPageItems"`
	Next       []byte             `wire:"text MaxPrincipalBytes"`
	// Open: the cluster has no access rules, and anonymous clients may do everything on the asked host.
	Open bool
}

// AccessCheck asks whether a principal may do something, or which principals may.
type AccessCheck struct {
	Principal []byte // empty for all
	Path      []byte
	Object    []byte
	// Right is the right in question; of several rights one is enough.
	Right Right
}

func (m *AccessCheck) requestFields(c *codec) {
	c.text("principal", &m.Principal, MaxPrincipalBytes)
	c.text("path", &m.Path, MaxPathBytes)
	c.text("object", &m.Object, MaxNameBytes)
	c.uint("right", (*uint64)(&m.Right))
}

// AccessCheckAnswer answers an AccessCheck.
type AccessCheckAnswer struct {
	// Decisions has, for each principal with the right, a rule that gives the right; at most MaxPageItems.
	Decisions []access.Decision `wire:"most MaxPageItems"`
	// More: the list of decisions is not complete.
	More bool
}

// AccessDenials asks a host for the latest requests that the host refused for want of a right.
type AccessDenials struct {
	Limit uint64
}

// AccessDenialsAnswer answers an AccessDenials.
type AccessDenialsAnswer struct {
	HostName []byte `wire:"text MaxHostNameBytes"`
	// Denials are the latest denials, the newest first.
	Denials []access.Denial `wire:"most MaxPageItems"`
	// Total is the number of denials since the host started.
	Total uint64
}

// TokenExpiring is pushed before the token of the client expires, because the host closes the connection at that
// moment.
type TokenExpiring struct {
	Token      []byte `wire:"text MaxAccessNameBytes"` // name of the token
	LeftMillis uint64
}
