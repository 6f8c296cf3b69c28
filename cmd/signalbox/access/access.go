// Package access implements the access control commands: roles, cluster tokens, denied requests. Start at Command.
package access

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/admin"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
)

// Command returns the commands for access control.
func Command(f *cli.Frame) *cobra.Command {
	return f.Command(cli.Group(&cobra.Command{
		Use:   "access",
		Short: "Access control: roles, tokens, grants, denied requests",
		Long: `The cluster stores roles, principals, and grants that connect the two. A change applies
on every host at once, also to open connections. The principals are:

  token:NAME     clients with the token NAME
  cn:NAME        clients with the common name NAME in their certificate
  san:NAME       clients with the alternative name NAME in their certificate
  anonymous      all clients

A grant gives a role below a path. Rules only allow: no rule denies anything. The
predefined roles, each with the permissions of the roles before it, are:

  read           read
  write          acquire, write
  operator       delete, operate
  admin          admin
  root           cluster, backup; on / only

While the cluster has no access rules, anonymous clients may do everything. The first
rule ends the open access, and must leave a principal with the permission to change
rules. A cluster bootstrapped with --access-file or --token-file is never open to
anonymous clients.

Tokens in the --token-file of a host may do everything on the host, whatever rules the
cluster has.`,
	}, newRevoke(f), newRole(f), newToken(f), newCan(f),
		newDenials(f), newImport(f), newExport(f)))
}

func newRevoke(f *cli.Frame) *cobra.Command {
	var flags cli.ActFlags
	var object string
	c := &cobra.Command{
		Use:   "revoke PRINCIPAL [ROLE] [PATH]",
		Short: "Revoke one role of a principal, or all of its roles",
		Long: `Revokes the role ROLE below PATH from a principal, or all of its roles. Watches, waiting
acquires and sessions that need the role end at once.`,
		Example: `  signalbox access revoke token:ci write /prod/jobs
  signalbox access revoke anonymous`,
		RunE: func(c *cobra.Command, args []string) error {
			var one *admin.Grant
			switch len(args) {
			case 2:
				return cli.Errorf(cli.ExitUsage, "give both ROLE and PATH, or neither to revoke all roles")
			case 3:
				one = &admin.Grant{Role: args[1], Path: args[2], Object: object}
			}
			return f.Ask(c, func(ctx context.Context, box *client.Client) error {
				changed, err := admin.New(box).Revoke(ctx, args[0], one, admin.ChangeInfo(flags.By(f)))
				return f.ReportAct(args[0], "revoked", changed, err)
			})
		},
	}
	c.Flags().StringVar(&object, "name-prefix", "", "Revoke the grant for object names with this `PREFIX`")
	flags.Add(c, "history")
	return c
}
