// Package access has the commands about rights: roles, tokens that the cluster keeps, and refusals. Command is the
// door.
package access

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/admin"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
)

// Command returns the commands about rights.
func Command(f *cli.Frame) *cobra.Command {
	return f.Command(cli.Group(&cobra.Command{
		Use:   "access",
		Short: "Rights: who may do what, tokens, roles, who was refused",
		Long: `The cluster keeps who may do what: a change holds on every host at once, for
connections that are open too. A principal has roles, each below a path:

  token:NAME     clients with the token of that name
  cn:NAME        clients whose certificate has the common name
  san:NAME       clients whose certificate has the alternative name
  anonymous      everybody

Roles that there always are: read, write (and acquire, write), operator (and delete,
operate), admin (and admin), root (and cluster, backup). Rules only allow.

Until anonymous was granted or refused something, hosts without a file of tokens
let everybody do everything. signalbox access revoke anonymous closes the cluster.
The file of --token-file lets in beside all this, whatever becomes of the cluster.`,
	}, newRevoke(f), newRole(f), newToken(f), newCan(f),
		newDenials(f), newImport(f)))
}

func newRevoke(f *cli.Frame) *cobra.Command {
	var flags cli.ActFlags
	var object string
	c := &cobra.Command{
		Use:   "revoke PRINCIPAL [ROLE] [PATH]",
		Short: "Take a role, or all roles",
		Long: `Takes a role below a path from a principal, or all of its roles. Watches and sessions
that are not allowed any more end at once. All roles of anonymous taken, no client may
do anything without a token or a certificate.`,
		Example: `  signalbox access revoke token:ci write /prod/jobs
  signalbox access revoke anonymous`,
		RunE: func(c *cobra.Command, args []string) error {
			var one *admin.Grant
			switch len(args) {
			case 2:
				return cli.Errorf(cli.ExitUsage, "revoke a role below a path, ROLE PATH, or all roles")
			case 3:
				one = &admin.Grant{Role: args[1], Path: args[2], Object: object}
			}
			return f.Ask(c, func(ctx context.Context, box *client.Client) error {
				changed, err := admin.Of(box).Revoke(ctx, args[0], one, admin.By(flags.By(f)))
				return f.ReportAct(args[0], "revoked", changed, err)
			})
		},
	}
	c.Flags().StringVar(&object, "name-prefix", "", "Take the role that was granted with this name `PREFIX`")
	flags.Add(c, "history")
	return c
}
