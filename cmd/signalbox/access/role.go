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
	"github.com/signalbox/signalbox/internal/shape"
	"github.com/signalbox/signalbox/server/access"
)

func newRole(f *cli.Frame) *cobra.Command {
	return cli.Group(&cobra.Command{
		Use:   "role",
		Short: "Roles: set, delete, list",
		Long: `A role is a list of rules under a name. Where it is granted below a path its rules
count below that path. To change one takes the right admin on /, since all that
have it get or lose something.`,
	}, newRoleSet(f))
}

// parsePlace reads WHAT:PATH or WHAT:PATH:OBJECT. The form is the hint for the user.
func parsePlace(text, form string) (what, path, object string, err error) {
	parts := strings.SplitN(text, ":", 3)
	if len(parts) < 2 || parts[0] == "" {
		return "", "", "", cli.Errorf(cli.ExitUsage, "%s: write it %s", cli.Safe(text), form)
	}
	return parts[0], parts[1], append(parts, "")[2], cli.CheckPlace(parts[1])
}

func newRoleSet(f *cli.Frame) *cobra.Command {
	var flags cli.ActFlags
	var rules []string
	c := &cobra.Command{
		Use:   "set NAME",
		Short: "Make a role, or give it other rules",
		Long: `Makes a role of the rules that --rule gives, or gives one other rules. A rule is
RIGHTS:PATH, or RIGHTS:PATH:PREFIX for objects whose names begin with PREFIX; of
rights there are read, acquire, write, delete, operate, admin, cluster, backup.`,
		Example: `  signalbox access role set deploy --rule read:/ --rule operate:/:deploy-`,
		RunE: func(c *cobra.Command, args []string) error {
			role := admin.AccessRole{Name: args[0]}
			for _, text := range rules {
				names, path, object, err := parsePlace(text, "RIGHTS:PATH, such as read,acquire:/jobs")
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
				changed, err := admin.Of(box).SetRole(ctx, role, admin.By(flags.By(f)))
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
		Short: "Tokens that the cluster keeps: create, list, revoke",
		Long: `A token that the cluster keeps lets in on every host. The cluster has its hash only:
the secret is printed once. Those of the file of --token-file are made by signalbox
token generate.`,
	}, newTokenCreate(f))
}

// createdToken is a new token. The text is missing if a file got the text.
type createdToken struct {
	shape.Done
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
		Short: "Make a token",
		Long: `Makes a token with the roles that --grant gives, and prints its secret, once, or writes
it into the file of --to, which is there only once the token is. A client is warned five
minutes before its token expires; then its connections are closed. To change a secret
make another token, give it to the clients, and revoke the old.`,
		Example: `  signalbox access token create ci --grant write:/prod/jobs --grant read:/ --out ci.token
  signalbox access token create ann --grant root:/ --ttl 8h`,
		RunE: func(c *cobra.Command, args []string) error {
			var list []admin.Grant
			for _, text := range grants {
				role, path, object, err := parsePlace(text, "ROLE:PATH, such as write:/prod/jobs")
				if err != nil {
					return err
				}
				list = append(list, admin.Grant{Role: role, Path: path, Object: object})
			}
			o := createdToken{Principal: "token:" + args[0], Text: access.NewToken()}
			if valid > 0 {
				o.Expires = time.Now().Add(valid).Truncate(time.Second)
			}
			return f.Ask(c, func(ctx context.Context, box *client.Client) error {
				by := admin.By(flags.By(f))
				var err error
				o.Changed, err = admin.Of(box).CreateToken(ctx, args[0], o.Text, o.Expires, list, by)
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
					return fmt.Errorf("the token %s was made, and could not be written: revoke it: %w", args[0], err)
				}
				o.Text = ""
				return f.Line(o, "%s has the token %s", to, args[0])
			})
		},
	}
	c.Flags().StringVar(&to, "out", "", "Write the secret to `FILE`, readable by its owner only, instead of "+
		"printing it")
	c.Flags().StringArrayVar(&grants, "grant", nil, "Role of the token, `ROLE:PATH[:PREFIX]`. May be repeated")
	c.Flags().DurationVar(&valid, "ttl", 0, "Lifetime of the token, `DURATION`. Default: no expiry")
	flags.Add(c, "history")
	return c
}
