package access

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/admin"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
	"github.com/signalbox/signalbox/internal/apijson"
	"github.com/signalbox/signalbox/server/access"
)

func newRole(f *cli.Frame) *cobra.Command {
	return cli.Group(&cobra.Command{
		Use:   "role",
		Short: "Roles: set, delete, list",
		Long: `A role is a list of rules. If it is granted below a path, its rules apply below that
path. To change a role takes the permission admin on /, because the change applies to
all principals with the role.`,
	}, newRoleSet(f))
}

func newRoleSet(f *cli.Frame) *cobra.Command {
	var flags cli.ActFlags
	var rules []string
	c := &cobra.Command{
		Use:   "set NAME",
		Short: "Create a role, or replace its rules",
		Long: `Creates a role with the rules of --rule, or replaces the rules of a role. A rule is
PERMISSIONS:PATH, or PERMISSIONS:PATH:PREFIX for objects whose names begin with PREFIX.
Permissions are read, acquire, write, delete, operate, admin, cluster and backup.`,
		Example: `  signalbox access role set deploy --rule read:/ --rule operate:/:deploy-`,
		RunE: func(c *cobra.Command, args []string) error {
			role := admin.AccessRole{Name: args[0]}
			for _, text := range rules {
				names, path, object, err := cli.ParsePlace(text, "PERMISSIONS:PATH, such as read,acquire:/jobs")
				if err != nil {
					return err
				}
				rule := admin.Rule{Path: path, Object: object}
				if err := rule.Rights.SetNames(strings.Split(names, ",")); err != nil {
					return cli.Errorf(cli.ExitUsage, "%w", err)
				}
				role.Rules = append(role.Rules, rule)
			}
			return f.Ask(c, func(ctx context.Context, box *client.Client) error {
				changed, err := admin.New(box).SetRole(ctx, role, admin.ChangeInfo(flags.By(f)))
				return f.ReportAct("role "+args[0], "set", changed, err)
			})
		},
	}
	c.Flags().StringArrayVar(&rules, "rule", nil, "Rule, `PERMISSIONS:PATH[:PREFIX]`. May be repeated")
	flags.Add(c, "history")
	return c
}

func newToken(f *cli.Frame) *cobra.Command {
	return cli.Group(&cobra.Command{
		Use:   "token",
		Short: "Tokens of the cluster: create, list, revoke",
		Long: `A token of the cluster is valid on every host. The cluster stores only its hash, so the
token is printed once. signalbox token generate makes tokens for files.`,
	}, newTokenCreate(f))
}

// createdToken is a new token. The text is omitted if it was written to a file.
type createdToken struct {
	apijson.Done
	Principal string
	Text      string
	Expires   time.Time
}

func newTokenCreate(f *cli.Frame) *cobra.Command {
	var flags cli.ActFlags
	var grants []string
	var valid time.Duration
	var to string
	c := &cobra.Command{
		Use:   "create NAME",
		Short: "Create a token",
		Long: `Creates a token with the roles given by --grant, and prints the token once, or writes it
to the file given by --out. Clients are warned five minutes before a token expires; at
expiry their connections are closed. To replace a token, create a new token, give the
new token to the clients, and revoke the old token.`,
		Example: `  signalbox access token create ci --grant write:/prod/jobs --grant read:/ --out ci.token
  signalbox access token create ann --grant root:/ --ttl 8h`,
		RunE: func(c *cobra.Command, args []string) error {
			list, err := cli.ParseGrants(grants)
			if err != nil {
				return err
			}
			o := createdToken{Principal: "token:" + args[0], Text: access.NewToken()}
			if valid > 0 {
				o.Expires = time.Now().Add(valid).Truncate(time.Second)
			}
			return f.Ask(c, func(ctx context.Context, box *client.Client) error {
				by := admin.ChangeInfo(flags.By(f))
				var err error
				o.Changed, err = admin.New(box).CreateToken(ctx, args[0], o.Text, o.Expires, list, by)
				if err != nil {
					return err
				}
				if to == "" {
					return f.Line(o, "%s", o.Text)
				}
				err = cli.WriteWhole(to, func(w io.Writer) error {
					_, err := fmt.Fprintln(w, o.Text)
					return err
				})
				if err != nil {
					return fmt.Errorf("token %s was created, but cannot be written to the file; revoke the "+
						"token: %w", args[0], err)
				}
				o.Text = ""
				return f.Line(o, "%s contains the token %s", to, args[0])
			})
		},
	}
	c.Flags().StringVar(&to, "out", "", "Write the token to `FILE`, readable by the file owner only; do not print it")
	c.Flags().StringArrayVar(&grants, "grant", nil, "Role to grant, `ROLE:PATH[:PREFIX]`. May be repeated")
	c.Flags().DurationVar(&valid, "ttl", 0, "Token lifetime, `DURATION`. Default: no expiry")
	flags.Add(c, "history")
	return c
}
