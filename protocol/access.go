package protocol

// AccessChange changes who may do what. It goes to the leader of the meta shard.
type AccessChange struct {
	Operation
	Verb AccessVerb
	// Principal is who gets or loses something: token:NAME, cn:NAME, san:NAME, or anonymous.
	Principal []byte
	// Role is the name of the role that is made, changed or deleted, with its Rules.
	Role  []byte
	Rules AccessRules
	// Grants are what a new token gets, or the one that is granted or revoked. To revoke none is to revoke all.
	Grants AccessGrants
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
	m.Rules.list(c, "rules")
	m.Grants.list(c, "grants")
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

// AccessRules is a list of rules.
type AccessRules = List[AccessRule, *AccessRule]

// AccessRule allows rights below a path.
type AccessRule struct {
	Path []byte
	// Object, where it is not empty, is what the names of the objects begin with that it is about.
	Object []byte
	// Rights is the sum of the bits of rights.
	Rights uint64
}

func (r *AccessRule) item(c *codec) { c.record("", r.fields) }

func (r *AccessRule) fields(c *codec) {
	c.text("path", &r.Path, MaxPathBytes)
	c.text("object", &r.Object, MaxNameBytes)
	c.uint("rights", &r.Rights)
}

// AccessGrants is a list of grants.
type AccessGrants = List[AccessGrant, *AccessGrant]

// AccessGrant is a role below a path.
type AccessGrant struct {
	Role   []byte
	Path   []byte
	Object []byte // see AccessRule
}

func (g *AccessGrant) item(c *codec) { c.record("", g.fields) }

func (g *AccessGrant) fields(c *codec) {
	c.text("role", &g.Role, MaxAccessNameBytes)
	c.text("path", &g.Path, MaxPathBytes)
	c.text("object", &g.Object, MaxNameBytes)
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
	Roles      AccessRoles
	Principals AccessPrincipals
	Next       []byte
	// Decided: it was said what anonymous clients may do. Until then hosts without a file of tokens let them do
	// everything.
	Decided bool
}

// Kind returns the kind of the answer to an AccessList.
func (*AccessListAnswer) Kind() Kind { return KindAccessList.Answer() }

func (m *AccessListAnswer) answerFields(c *codec) {
	m.Roles.list(c, "roles")
	m.Principals.list(c, "principals")
	c.text("next", &m.Next, MaxPrincipalBytes)
	c.bool("decided", &m.Decided)
}

// AccessRoles is a list of roles.
type AccessRoles = List[AccessRole, *AccessRole]

// AccessRole is a list of rules under a name.
type AccessRole struct {
	Name  []byte
	Rules AccessRules
}

func (r *AccessRole) item(c *codec) { c.record("", r.fields) }

func (r *AccessRole) fields(c *codec) {
	c.text("name", &r.Name, MaxAccessNameBytes)
	r.Rules.list(c, "rules")
}

// AccessPrincipals is a list of principals.
type AccessPrincipals = List[AccessPrincipal, *AccessPrincipal]

// AccessPrincipal is who clients are, and which roles they have.
type AccessPrincipal struct {
	Principal     []byte
	ExpiresMillis uint64
	CreatedMillis uint64
	By            []byte // who made it
	Grants        AccessGrants
}

func (p *AccessPrincipal) item(c *codec) { c.record("", p.fields) }

func (p *AccessPrincipal) fields(c *codec) {
	c.text("principal", &p.Principal, MaxPrincipalBytes)
	c.uint("expires_ms", &p.ExpiresMillis)
	c.uint("created_ms", &p.CreatedMillis)
	c.text("by", &p.By, MaxAccessNameBytes)
	p.Grants.list(c, "grants")
}

// AccessAsk asks who may do something: one principal, or all that may.
type AccessAsk struct {
	Principal []byte // empty for all
	Path      []byte
	Object    []byte
	// Right is what is asked about, one of several where it has several bits.
	Right uint64
}

// Kind returns KindAccessAsk.
func (*AccessAsk) Kind() Kind { return KindAccessAsk }

func (m *AccessAsk) requestFields(c *codec) {
	c.text("principal", &m.Principal, MaxPrincipalBytes)
	c.text("path", &m.Path, MaxPathBytes)
	c.text("object", &m.Object, MaxNameBytes)
	c.uint("right", &m.Right)
}

// AccessAskAnswer answers an AccessAsk.
type AccessAskAnswer struct {
	// Decisions has a rule that allows it for each principal that may; at most MaxPageItems.
	Decisions AccessDecisions
	// More: there are more than are shown.
	More bool
}

// Kind returns the kind of the answer to an AccessAsk.
func (*AccessAskAnswer) Kind() Kind { return KindAccessAsk.Answer() }

func (m *AccessAskAnswer) answerFields(c *codec) {
	m.Decisions.list(c, "decisions")
	c.bool("more", &m.More)
}

// AccessDecisions is a list of decisions.
type AccessDecisions = List[AccessDecision, *AccessDecision]

// AccessDecision is why a principal may do something.
type AccessDecision struct {
	Principal []byte
	Grant     AccessGrant
	Rule      AccessRule // as it counts where the role was granted
}

func (d *AccessDecision) item(c *codec) { c.record("", d.fields) }

func (d *AccessDecision) fields(c *codec) {
	c.text("principal", &d.Principal, MaxPrincipalBytes)
	c.record("grant", d.Grant.fields)
	c.record("rule", d.Rule.fields)
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
	Denials AccessDenialList
	// Total is how many there were since the host started.
	Total uint64
}

// Kind returns the kind of the answer to an AccessDenials.
func (*AccessDenialsAnswer) Kind() Kind { return KindAccessDenials.Answer() }

func (m *AccessDenialsAnswer) answerFields(c *codec) {
	c.text("host_name", &m.HostName, MaxHostNameBytes)
	m.Denials.list(c, "denials")
	c.uint("total", &m.Total)
}

// AccessDenialList is a list of refusals.
type AccessDenialList = List[AccessDenial, *AccessDenial]

// AccessDenial is a request that was refused for want of a right.
type AccessDenial struct {
	AtMillis uint64 // wall clock of the host
	Who      []byte // who asked, as far as the host knows
	Address  []byte
	Request  []byte // the name of its kind
	Right    uint64
	Path     []byte // empty where it was for no node
	Object   []byte
}

func (d *AccessDenial) item(c *codec) { c.record("", d.fields) }

func (d *AccessDenial) fields(c *codec) {
	c.uint("at_ms", &d.AtMillis)
	c.text("who", &d.Who, MaxPrincipalBytes)
	c.text("address", &d.Address, MaxAddressBytes)
	c.text("request", &d.Request, MaxWordBytes)
	c.uint("right", &d.Right)
	c.text("path", &d.Path, MaxPathBytes)
	c.text("object", &d.Object, MaxNameBytes)
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
