package http

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"time"

	"github.com/signalbox/signalbox/client/admin"
	"github.com/signalbox/signalbox/protocol"
)

// principals are those that have some role.
type principals struct {
	Items   []admin.Principal
	Decided bool `about:"it was said what clients may do that show no token"`
}

type askRequest struct {
	Right string `need:"true" about:"see, acquire, write, delete, operate, admin, cluster or backup"`
	Node  string `need:"true" about:"the path of a node, or what it begins with"`
	Name  string `about:"of an object in the node"`
}

// deciding are the principals that may do something, and why.
type deciding struct {
	Items []admin.Decision
	More  bool `about:"there are more"`
}

type grantRequest struct {
	Principal string `need:"true" about:"token:NAME, cn:NAME, san:NAME or anonymous"`
	Role      string `need:"true"`
	Path      string `need:"true" about:"below which it counts"`
	Object    string `about:"only for objects whose names begin with it"`
	act
}

func (g *grantRequest) grant() admin.Grant {
	return admin.Grant{Role: g.Role, Path: g.Path, Object: g.Object}
}

type roleRequest struct {
	Role  string `need:"true" about:"its name"`
	Rules []admin.Rule
	act
}

type roleName struct {
	Role string `need:"true" about:"its name"`
	act
}

type tokenRequest struct {
	Name    string     `need:"true" about:"the token's name: it is token:NAME where roles are granted"`
	SHA256  string     `name:"sha256" need:"true" about:"of the secret that the caller has drawn, in hex"`
	Expires *time.Time `about:"never where it is not given"`
	Grants  []admin.Grant
	act
}

type tokenName struct {
	Name string `need:"true" about:"the token's name"`
	act
}

type joinTokenRequest struct {
	ID     string        `need:"true" about:"that the caller has drawn"`
	SHA256 string        `name:"sha256" need:"true" about:"of the secret that the caller has drawn, in hex"`
	Valid  time.Duration `need:"true" about:"for how long a host may join by it"`
	act
}

type joinTokenID struct {
	ID string `need:"true" about:"the token's id"`
	act
}

// accessRoutes are about who may do what.
func accessRoutes() []route {
	const group, right = "Rights", "admin"
	return []route{
		get("/access/principals", group, right, "Lists who has some role where the caller may give rights",
			func(ctx context.Context, c *call, _ *none) (p principals, err error) {
				p.Items, p.Decided, err = c.caller.admin().Principals(ctx)
				return p, err
			}),
		get("/access/roles", group, right, "Lists the roles that were made",
			func(ctx context.Context, c *call, _ *none) (l list[admin.AccessRole], err error) {
				l.Items, err = c.caller.admin().Roles(ctx)
				return l, err
			}),
		get("/access/who-can", group, right, "Lists who may do something, and by which rule",
			func(ctx context.Context, c *call, q *askRequest) (d deciding, err error) {
				d.Items, d.More, err = c.caller.admin().WhoCan(ctx, q.Right, q.Node, q.Name)
				return d, err
			}),
		governing("/access/grant", group, right, "Gives a token or a certificate a role below a path",
			func(ctx context.Context, a *admin.Admin, q *grantRequest) (bool, error) {
				return a.Grant(ctx, q.Principal, q.grant(), q.by())
			}),
		governing("/access/revoke", group, right, "Takes a role back that was granted",
			func(ctx context.Context, a *admin.Admin, q *grantRequest) (bool, error) {
				g := q.grant()
				return a.Revoke(ctx, q.Principal, &g, q.by())
			}),
		governing("/access/role/set", group, right, "Makes a role, or gives it other rules",
			func(ctx context.Context, a *admin.Admin, q *roleRequest) (bool, error) {
				return a.SetRole(ctx, admin.AccessRole{Name: q.Role, Rules: q.Rules}, q.by())
			}),
		governing("/access/role/delete", group, right, "Deletes a role that is granted nowhere",
			func(ctx context.Context, a *admin.Admin, q *roleName) (bool, error) {
				return a.DeleteRole(ctx, q.Role, q.by())
			}),
		governing("/access/token/create", group, right, "Makes an access token of a secret that hosts do not get",
			func(ctx context.Context, a *admin.Admin, q *tokenRequest) (bool, error) {
				hash, err := readHash(q.SHA256)
				if err != nil {
					return false, err
				}
				var expires time.Time
				if q.Expires != nil {
					expires = *q.Expires
				}
				return a.CreateTokenOf(ctx, q.Name, hash, expires, q.Grants, q.by())
			}),
		governing("/access/token/revoke", group, right, "Ends an access token, and the connections that came with it",
			func(ctx context.Context, a *admin.Admin, q *tokenName) (bool, error) {
				return a.RevokeToken(ctx, q.Name, q.by())
			}),
	}
}

// joinRoutes are about the tokens by which hosts join.
func joinRoutes() []route {
	const group, right = "Hosts", "cluster"
	return []route{
		get("/join-tokens", group, right, "Lists the tokens by which hosts may join",
			func(ctx context.Context, c *call, _ *none) (l list[admin.JoinToken], err error) {
				l.Items, err = c.caller.admin().JoinTokens(ctx)
				return l, err
			}),
		post("/join-token/create", group, right, "Lets one host join by a secret that hosts do not get",
			func(ctx context.Context, c *call, q *joinTokenRequest) (*admin.Joining, error) {
				hash, err := readHash(q.SHA256)
				if err != nil {
					return nil, err
				}
				return c.caller.admin().CreateJoinToken(ctx, q.ID, hash, q.Valid, q.by())
			}),
		governing("/join-token/revoke", group, right, "Makes a token useless by which a host may join",
			func(ctx context.Context, a *admin.Admin, q *joinTokenID) (bool, error) {
				return a.RevokeJoinToken(ctx, q.ID, q.by())
			}),
	}
}

// governing makes a row for a change that needs a right on the cluster.
func governing[Q any](
	path, group, right, does string, f func(context.Context, *admin.Admin, *Q) (bool, error),
) route {
	return post(path, group, right, does, func(ctx context.Context, c *call, q *Q) (done, error) {
		changed, err := f(ctx, c.caller.admin(), q)
		return done{changed}, err
	})
}

// readHash reads a SHA-256 in hex.
func readHash(text string) (hash [sha256.Size]byte, err error) {
	read, err := hex.DecodeString(text)
	if err != nil || len(read) != len(hash) {
		return hash, refuse(protocol.StatusBadRequest, "sha256 is not a SHA-256 in 64 hexadecimal digits")
	}
	return [sha256.Size]byte(read), nil
}
