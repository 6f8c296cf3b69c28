package operation

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/admin"
	"github.com/signalbox/signalbox/protocol"
)

// principals are the tokens, certificates and so on that have some role.
type principals struct {
	Items []admin.Principal
	Open  bool `about:"the cluster has no access rules yet: clients without a token may do everything"`
	Paging
}

// listPrincipals returns a page of the principals, and for a command all of them.
func listPrincipals(ctx context.Context, c *client.Client, q *Page) (found principals, err error) {
	if q.whole(ctx) {
		found.Items, found.Open, err = admin.New(c).Principals(ctx)
		return found, err
	}
	behind, err := q.behind()
	if err != nil {
		return found, err
	}
	all := flat(admin.New(c).AccessParts(ctx, false, behind.name), func(part admin.AccessPart) []admin.Principal {
		found.Open = part.Open
		return part.Principals
	})
	page, err := collect(ctx, all, q.Size(), func(p admin.Principal) place { return place{name: p.Name} })
	found.Items, found.Paging = page.Items, Paging{page.More, page.Cursor}
	return found, err
}

// askRequest asks for the principals with a permission at a place.
type askRequest struct {
	Permission string `need:"true" arg:"RIGHT" about:"read, acquire, write, delete, operate, admin, cluster or backup"`
	Node       string `need:"true" arg:"PATH" about:"the path of a node, or what it begins with"`
	Name       string `arg:"OBJECT" about:"of an object in the node"`
}

// permissionDecisions are the principals that may do something, and why.
type permissionDecisions struct {
	Items []admin.Decision
	More  bool `about:"there are more"`
}

// grantRequest gives a role below a path to a principal, or takes the role back.
type grantRequest struct {
	Principal  string `need:"true" about:"token:NAME, cn:NAME, san:NAME or anonymous"`
	Role       string `need:"true"`
	Path       string `need:"true" check:"place" about:"below which it counts"`
	NamePrefix string `about:"only for objects whose names begin with it" help:"Only for objects whose names begin with this 'PREFIX'"`
	act
}

func (g *grantRequest) grant() admin.Grant {
	return admin.Grant{Role: g.Role, Path: g.Path, Object: g.NamePrefix}
}

// roleRequest makes a role, or replaces the rules of a role.
type roleRequest struct {
	Role  string `need:"true" about:"its name"`
	Rules []admin.Rule
	act
}

// roleName names a role to delete. A role that is granted somewhere stays.
type roleName struct {
	Role string `need:"true" arg:"NAME" about:"its name"`
	act
}

// tokenRequest makes an access token. The caller draws the secret and sends the hash, so no host ever has the secret.
type tokenRequest struct {
	Name    string     `need:"true" about:"the token's name: it is token:NAME where roles are granted"`
	SHA256  string     `name:"sha256" need:"true" about:"of the secret that the caller has drawn, in hex"`
	Expires *time.Time `about:"never where it is not given"`
	Grants  []admin.Grant
	act
}

// importRequest sets roles and principals, and keeps all others.
type importRequest struct {
	Roles      []admin.AccessRole
	Principals []admin.Principal
	act
}

// tokenName names a token to revoke. Connections with the token are closed at once.
type tokenName struct {
	Name string `need:"true" about:"the token's name"`
	act
}

// joinTokenRequest lets a host join. As for access tokens, hosts get only the hash of the secret.
type joinTokenRequest struct {
	ID     string        `need:"true" about:"that the caller has drawn"`
	SHA256 string        `name:"sha256" need:"true" about:"of the secret that the caller has drawn, in hex"`
	TTL    time.Duration `name:"ttl" need:"true" about:"for how long a host may join by it"`
	act
}

// joinTokenID names a join token to revoke.
type joinTokenID struct {
	ID string `need:"true" about:"the token's id"`
	act
}

// access are the operations on rights.
func access() []Operation {
	return group("Access",
		read("/access/principals", protocol.KindAccessList,
			"Lists the principals with a role where the caller may grant access",
			listPrincipals,
			Face{
				Use: "access list", Short: "List principals and their roles",
				Long: `Lists the principals that have a role on a path where you have the permission admin. A
grant is shown as ROLE:PATH, or ROLE:PATH:PREFIX for objects whose names begin with
PREFIX.`,
				Example: `  signalbox access list
  signalbox access list -o json | jq -r .name`,
				Table: principalsWith(""),
			}, Face{
				Use: "access token list", Short: "List tokens",
				Long:    `Lists the tokens of the cluster with their roles and expiry, without the secrets.`,
				Example: `  signalbox access token list -o wide`,
				Table:   principalsWith("token:"),
			}),
		pages("/access/roles", protocol.KindAccessList, "Lists custom roles",
			func(ctx context.Context, c *client.Client, _ *Page, behind place) iter.Seq2[admin.AccessRole, error] {
				return flat(admin.New(c).AccessParts(ctx, true, behind.name),
					func(part admin.AccessPart) []admin.AccessRole { return part.Roles })
			},
			func(r admin.AccessRole) place { return place{name: r.Name} },
			Face{
				Use: "access role list", Short: "List custom roles",
				Long:    `Lists the roles that operators created, with their rules. Predefined roles are not listed.`,
				Example: `  signalbox access role list`,
				Table: table(func(r admin.AccessRole) []any {
					return []any{r.Name, RuleTexts(r.Rules)}
				}, "ROLE", "RULES"),
			}),
		read("/access/who-can", protocol.KindAccessCheck, "Lists who may perform an action, and by which rule",
			func(ctx context.Context, c *client.Client, q *askRequest) (d permissionDecisions, err error) {
				all, more, err := admin.New(c).WhoCan(ctx, q.Permission, q.Node, q.Name)
				page, err := listed(ctx, all, err)
				return permissionDecisions{page.Items, more || page.More}, err
			},
			Face{
				Use: "access who-can RIGHT PATH [OBJECT]", Short: "List principals that have a permission",
				Long: `Lists the principals that have a permission at a path, or for the object OBJECT there,
each with the role and rule that gives it. What anonymous may do, all clients may do.`,
				Example: `  signalbox access who-can acquire /prod/jobs nightly
  signalbox access who-can backup /`,
				Table: noting(tableOf(func(d permissionDecisions) []admin.Decision { return d.Items },
					func(d admin.Decision) []any {
						return []any{d.Principal, GrantText(&d.Grant), RuleText(&d.Rule)}
					}, "PRINCIPAL", "BY ROLE", "RULE"), func(d permissionDecisions) []string {
					return given(d.More, "there are more than are shown")
				}),
			}),
		govern("/access/grant", protocol.KindAccessChange, "Grants a role below a path to a token or certificate",
			func(ctx context.Context, a *admin.Admin, q *grantRequest) (bool, error) {
				return a.Grant(ctx, q.Principal, q.grant(), q.by())
			},
			Face{
				Use: "access grant PRINCIPAL ROLE PATH [--name-prefix]", Short: "Grant a role below a path",
				Long: `Grants a principal a role for the node PATH and all nodes below it; with --name-prefix
only for objects whose names begin with the prefix. You need the permission admin on
PATH, and cannot grant more than you have there.`,
				Example: `  signalbox access grant token:ci write /prod/jobs
  signalbox access grant cn:box.example read /
  signalbox access grant token:ci operator /prod --name-prefix nightly-`,
				Done: "PRINCIPAL is granted ROLE on PATH",
			}),
		govern("/access/revoke", protocol.KindAccessChange, "Revokes a granted role",
			func(ctx context.Context, a *admin.Admin, q *grantRequest) (bool, error) {
				g := q.grant()
				return a.Revoke(ctx, q.Principal, &g, q.by())
			}),
		govern("/access/role/set", protocol.KindAccessChange, "Creates a role, or replaces its rules",
			func(ctx context.Context, a *admin.Admin, q *roleRequest) (bool, error) {
				return a.SetRole(ctx, admin.AccessRole{Name: q.Role, Rules: q.Rules}, q.by())
			}),
		govern("/access/role/delete", protocol.KindAccessChange, "Deletes an unused role",
			func(ctx context.Context, a *admin.Admin, q *roleName) (bool, error) {
				return a.DeleteRole(ctx, q.Role, q.by())
			},
			Face{
				Use: "access role delete NAME", Short: "Delete a role that is not granted",
				Long:    `Deletes a role. A role that is granted to a principal is not deleted: revoke it first.`,
				Example: `  signalbox access role delete deploy`,
				Done:    "role NAME is deleted",
			}),
		govern("/access/import", protocol.KindAccessChange,
			"Imports roles and principals from an export; others remain unchanged",
			func(ctx context.Context, a *admin.Admin, q *importRequest) (bool, error) {
				return a.Import(ctx, admin.AccessRules{Roles: q.Roles, Principals: q.Principals}, q.by())
			}),
		govern("/access/token/create", protocol.KindAccessChange,
			"Creates an access token; the secret stays with the caller",
			func(ctx context.Context, a *admin.Admin, q *tokenRequest) (bool, error) {
				hash, err := readHash(q.SHA256)
				if err != nil {
					return false, err
				}
				var expires time.Time
				set(&expires, q.Expires)
				return a.CreateTokenFromHash(ctx, q.Name, hash, expires, q.Grants, q.by())
			}),
		govern("/access/token/revoke", protocol.KindAccessChange,
			"Revokes an access token and closes its connections",
			func(ctx context.Context, a *admin.Admin, q *tokenName) (bool, error) {
				return a.RevokeToken(ctx, q.Name, q.by())
			},
			Face{
				Use: "access token revoke NAME", Short: "Revoke a token",
				Long:    `Revokes a token. Connections that use it are closed at once.`,
				Example: `  signalbox access token revoke ci`,
				Done:    "token NAME is revoked",
			}),
	)
}

// principalsWith makes a table of the principals with a prefix.
func principalsWith(prefix string) *Table {
	named := func(p principals) []admin.Principal {
		return slices.DeleteFunc(p.Items, func(of admin.Principal) bool { return !strings.HasPrefix(of.Name, prefix) })
	}
	cells := func(p admin.Principal) []any {
		return []any{p.Name, GrantTexts(p.Grants), p.Expires, p.Created, p.By}
	}
	table := tableOf(named, cells, "PRINCIPAL", "ROLES", "EXPIRES", "+CREATED", "+BY")
	return noting(table, func(p principals) []string {
		return given(p.Open, "the cluster has no access rules yet: clients without a token may do everything")
	})
}

// GrantTexts are grants in a table.
func GrantTexts(grants []admin.Grant) string { return joined(grants, GrantText) }

// RuleTexts are rules in a table.
func RuleTexts(rules []admin.Rule) string { return joined(rules, RuleText) }

// joined writes the items of a list with spaces between.
func joined[T any](items []T, text func(*T) string) string {
	var texts []string
	for i := range items {
		texts = append(texts, text(&items[i]))
	}
	return strings.Join(texts, " ")
}

// GrantText is a grant as flags write a grant.
func GrantText(g *admin.Grant) string { return placeText(g.Role, g.Path, g.Object) }

// RuleText is a rule as flags write a rule.
func RuleText(r *admin.Rule) string {
	return placeText(strings.Join(r.Rights.Names(), ","), r.Path, r.Object)
}

func placeText(what, path, object string) string {
	if object == "" {
		return what + ":" + path
	}
	return what + ":" + path + ":" + object
}

// joinTokens are the operations on the tokens by which hosts join.
func joinTokens() []Operation {
	return group("Hosts",
		read("/join-tokens", protocol.KindJoinToken, "Lists join tokens",
			func(ctx context.Context, c *client.Client, _ *None) (List[admin.JoinToken], error) {
				tokens, err := admin.New(c).JoinTokens(ctx)
				return listed(ctx, tokens, err)
			}),
		change("/join-token/create", protocol.KindJoinToken, "Creates a join token; its secret stays with the caller",
			func(ctx context.Context, c *client.Client, q *joinTokenRequest) (*admin.JoinInfo, error) {
				hash, err := readHash(q.SHA256)
				if err != nil {
					return nil, err
				}
				return admin.New(c).CreateJoinToken(ctx, q.ID, hash, q.TTL, q.by())
			}),
		govern("/join-token/revoke", protocol.KindJoinToken, "Revokes a join token",
			func(ctx context.Context, a *admin.Admin, q *joinTokenID) (bool, error) {
				return a.RevokeJoinToken(ctx, q.ID, q.by())
			}),
	)
}

// readHash reads a SHA-256 in hex.
func readHash(text string) (hash [sha256.Size]byte, err error) {
	read, err := hex.DecodeString(text)
	if err != nil || len(read) != len(hash) {
		return hash, BadRequest("sha256 is not a SHA-256 in 64 hexadecimal digits")
	}
	return [sha256.Size]byte(read), nil
}
