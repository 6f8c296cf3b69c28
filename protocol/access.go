package protocol

import "github.com/signalbox/signalbox/protocol/access"

// AccessChange changes principals' rights, roles, or tokens. The request goes to the meta shard's leader.
type AccessChange struct {
	Operation
	Action AccessAction
	// Principal gains or loses grants: token:NAME, cn:NAME, san:NAME, or anonymous.
	Principal []byte `wire:"text MaxPrincipalBytes"`
	// Role is the name of the role to create, change or delete, with its Rules.
	Role  []byte        `wire:"text MaxAccessNameBytes"`
	Rules []access.Rule `wire:"most access.MaxRules"`
	// Grants are a new token's grants, or the grant to give or revoke. A revocation without a grant revokes all grants.
	Grants []access.Grant `wire:"most access.MaxGrants"`
	// Hash is the SHA-256 of a new token's secret. The token is invalid from the wall clock time ExpiresMillis on; 0
	// for never.
	Hash          []byte `wire:"bytes MaxHashBytes"`
	ExpiresMillis uint64
	// Roles and Principals are imported: they are set as listed, and all others stay.
	Roles      []access.Role      `wire:"most MaxPageItems"`
	Principals []access.Principal `wire:"most MaxPageItems"`
}

// AccessChangeAnswer answers an AccessChange.
type AccessChangeAnswer struct {
	// Existed is set if the change was in force before, and nothing was changed.
	Existed bool
	// Since is for idempotent requests the client sends for the first time after this answer.
	Since uint64
}

// AccessAction selects what an AccessChange does.
type AccessAction uint8

const (
	// AccessGrantRole grants a role to a principal.
	AccessGrantRole AccessAction = 1
	// AccessRevokeRole revokes a role, or all roles, from a principal.
	AccessRevokeRole AccessAction = 2
	// AccessSetRole creates a role, or replaces its rules.
	AccessSetRole AccessAction = 3
	// AccessDeleteRole deletes a role, which must not be granted to any principal.
	AccessDeleteRole AccessAction = 4
	// AccessCreateToken creates a token.
	AccessCreateToken AccessAction = 5
	// AccessRevokeToken revokes a token.
	AccessRevokeToken AccessAction = 6
	// AccessImport sets roles and principals.
	AccessImport AccessAction = 7
)

// String returns the action as the docs write it, or the number if unknown.
func (a AccessAction) String() string {
	return nameOf(a, "ACCESS_ACTION", "UNKNOWN", "GRANT", "REVOKE", "SET_ROLE", "DELETE_ROLE", "CREATE_TOKEN",
		"REVOKE_TOKEN", "IMPORT")
}

// AccessList asks for the roles created by operators, or for the principals. A list is read in pages.
type AccessList struct {
	Roles bool
	After []byte `wire:"text MaxPrincipalBytes"` // a role name, or a principal
	Limit uint64
	// Export asks for token hashes too, and requires the role root on /.
	Export bool
}

// AccessListAnswer answers an AccessList.
type AccessListAnswer struct {
	Roles      []access.Role      `wire:"most MaxPageItems"`
	Principals []access.Principal `wire:"most MaxPageItems"`
	Next       []byte             `wire:"text MaxPrincipalBytes"`
	// Open is set if the cluster has no access rules, so anonymous clients may do everything on the asked host.
	Open bool
}

// AccessCheck asks whether a principal may do something, or lists the principals that may.
type AccessCheck struct {
	Principal []byte // empty for all
	Path      []byte
	Object    []byte
	// Right is the right in question; if several are set, one is enough.
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
	// Decisions has, for each principal with the right, a rule that grants the right; at most MaxPageItems.
	Decisions []access.Decision `wire:"most MaxPageItems"`
	// More is set if the decision list is incomplete.
	More bool
}

// AccessDenials asks a host for the latest requests it refused because a right was missing.
type AccessDenials struct {
	Limit uint64
}

// AccessDenialsAnswer answers an AccessDenials.
type AccessDenialsAnswer struct {
	HostName []byte `wire:"text MaxHostNameBytes"`
	// Denials are the latest denials, newest first.
	Denials []access.Denial `wire:"most MaxPageItems"`
	// Total is the number of denials since the host started.
	Total uint64
}

// TokenExpiring is pushed before the client's token expires, because the host closes the connection at that time.
type TokenExpiring struct {
	Token      []byte `wire:"text MaxAccessNameBytes"` // token name
	LeftMillis uint64
}
