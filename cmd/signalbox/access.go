package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/admin"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
)

// newAccess returns the commands about rights.
func newAccess(f *cli.Frame) *cobra.Command {
	return f.Command(cli.Group(&cobra.Command{
		Use:   "access",
		Short: "Rights: who may do what, tokens, roles, who was refused",
		Long: `The cluster keeps who may do what: a change holds on every host at once, for
connections that are open too. A principal has roles, each below a path:

  token:NAME     clients with the token of that name
  cn:NAME        clients whose certificate has the common name
  san:NAME       clients whose certificate has the alternative name
  anonymous      everybody

Roles that there always are: read (see), write (and acquire, write), operator (and
delete, operate), admin (and admin), root (and cluster, backup). Rules only allow.

Until anonymous was granted or refused something, hosts without a file of tokens
let everybody do everything. signalbox access revoke anonymous closes the cluster.
The file of --token-file lets in beside all this, whatever becomes of the cluster.`,
	}, newAccessList(f), newAccessGrant(f), newAccessRevoke(f), newAccessRole(f), newAccessToken(f), newAccessWhoCan(f),
		newAccessCan(f), newAccessDenials(f), newAccessImport(f)))
}

// roleGrantObject is a grant as JSON.
type roleGrantObject struct {
	Role   string `json:"role"`
	Path   string `json:"path"`
	Object string `json:"object_prefix,omitempty"`
}

func newRoleGrantObject(g admin.Grant) roleGrantObject {
	return roleGrantObject{g.Role, g.Path, g.Object}
}

// principalObject is a principal as JSON.
type principalObject struct {
	Principal string            `json:"principal"`
	Expires   string            `json:"expires,omitempty"`
	Created   string            `json:"created"`
	By        string            `json:"by,omitempty"`
	Grants    []roleGrantObject `json:"grants"`
}

const accessTime = "2006-01-02T15:04:05Z07:00"

func newPrincipalObject(p *admin.Principal) principalObject {
	o := principalObject{Principal: p.Name, Created: p.Created.UTC().Format(accessTime), By: p.By,
		Grants: []roleGrantObject{}}
	if !p.Expires.IsZero() {
		o.Expires = p.Expires.UTC().Format(accessTime)
	}
	for _, g := range p.Grants {
		o.Grants = append(o.Grants, newRoleGrantObject(g))
	}
	return o
}

// text is a grant as it is written in a flag.
func (g roleGrantObject) text() string { return placeText(g.Role, g.Path, g.Object) }

func placeText(what, path, object string) string {
	if object == "" {
		return what + ":" + path
	}
	return what + ":" + path + ":" + object
}

// ruleObject is a rule as JSON.
type ruleObject struct {
	Path   string   `json:"path"`
	Object string   `json:"object_prefix,omitempty"`
	Rights []string `json:"rights"`
}

func newRuleObject(r admin.Rule) ruleObject { return ruleObject{r.Path, r.Object, r.Rights} }

func (r ruleObject) text() string { return placeText(strings.Join(r.Rights, ","), r.Path, r.Object) }

func newAccessList(f *cli.Frame) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List who has which roles",
		Long: `Lists the principals that have a role where you may give rights, with what they
have: ROLE:PATH, and the beginning of names of objects behind it where there is one.`,
		Example: `  signalbox access list
  signalbox access list -o json | jq -r .principal`,
		Args: cli.NoArguments,
		RunE: func(c *cobra.Command, _ []string) error { return f.Ask(c, listPrincipals(f, "")) },
	}
}

// listPrincipals lists the principals whose names begin so.
func listPrincipals(f *cli.Frame, prefix string) func(context.Context, *client.Client) error {
	return func(ctx context.Context, box *client.Client) error {
		list, decided, err := admin.Of(box).Principals(ctx)
		if err != nil {
			return err
		}
		rows := f.Rows("PRINCIPAL", "ROLES", "EXPIRES", "+CREATED", "+BY")
		for i := range list {
			if !strings.HasPrefix(list[i].Name, prefix) {
				continue
			}
			o := newPrincipalObject(&list[i])
			var grants []string
			for _, g := range o.Grants {
				grants = append(grants, g.text())
			}
			if err := rows.Add(o, o.Principal, strings.Join(grants, " "), o.Expires, o.Created, o.By); err != nil {
				return err
			}
		}
		if !decided {
			f.Say("anonymous clients may do everything on hosts without a file of tokens")
		}
		return rows.End()
	}
}

func newAccessGrant(f *cli.Frame) *cobra.Command {
	var flags actFlags
	var object string
	c := &cobra.Command{
		Use:   "grant PRINCIPAL ROLE PATH",
		Short: "Give a role below a path",
		Long: `Gives a principal a role for the node of PATH and all below it; with --object only
for objects whose names begin so. Whoever has the right admin on a path may give
below it what it has there itself.`,
		Example: `  signalbox access grant token:ci write /prod/jobs
  signalbox access grant cn:box.example read /
  signalbox access grant token:ci operator /prod --object nightly-`,
		Args: cli.Arguments("PRINCIPAL", "ROLE", "PATH"),
		RunE: func(c *cobra.Command, args []string) error {
			return f.Ask(c, func(ctx context.Context, box *client.Client) error {
				changed, err := admin.Of(box).Grant(ctx, args[0],
					admin.Grant{Role: args[1], Path: args[2], Object: object},
					admin.By(flags.by(f)))
				if err == nil {
					reportAct(f, args[0], "granted "+args[1]+" on "+args[2], changed)
				}
				return err
			})
		},
	}
	c.Flags().StringVar(&object, "object", "", "only for objects whose names begin with this `PREFIX`")
	flags.add(c, "history")
	return c
}

func newAccessRevoke(f *cli.Frame) *cobra.Command {
	var flags actFlags
	var object string
	c := &cobra.Command{
		Use:   "revoke PRINCIPAL [ROLE] [PATH]",
		Short: "Take a role, or all roles",
		Long: `Takes a role below a path from a principal, or all of its roles. Watches and sessions
that are not allowed any more end at once. All roles of anonymous taken, no client may
do anything without a token or a certificate.`,
		Example: `  signalbox access revoke token:ci write /prod/jobs
  signalbox access revoke anonymous`,
		Args: cli.Arguments("PRINCIPAL", "[ROLE]", "[PATH]"),
		RunE: func(c *cobra.Command, args []string) error {
			var one *admin.Grant
			switch len(args) {
			case 2:
				return cli.Errorf(cli.ExitUsage, "revoke a role below a path, ROLE PATH, or all roles")
			case 3:
				one = &admin.Grant{Role: args[1], Path: args[2], Object: object}
			}
			return f.Ask(c, func(ctx context.Context, box *client.Client) error {
				changed, err := admin.Of(box).Revoke(ctx, args[0], one, admin.By(flags.by(f)))
				if err == nil {
					reportAct(f, args[0], "revoked", changed)
				}
				return err
			})
		},
	}
	c.Flags().StringVar(&object, "object", "", "the role that was granted with this `PREFIX`")
	flags.add(c, "history")
	return c
}
