package main

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/admin"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
	"github.com/signalbox/signalbox/server/access"
)

func newAccessRole(f *cli.Frame) *cobra.Command {
	return cli.Group(&cobra.Command{
		Use:   "role",
		Short: "Roles: set, delete, list",
		Long: `A role is a list of rules under a name. Where it is granted below a path its rules
count below that path. To change one takes the right admin on /, since all that
have it get or lose something.`,
	}, newRoleSet(f), newRoleDelete(f), newRoleList(f))
}

// roleObject is a role as JSON.
type roleObject struct {
	Role  string       `json:"role"`
	Rules []ruleObject `json:"rules"`
}

// parsePlace reads WHAT:PATH or WHAT:PATH:OBJECT.
func parsePlace(text, form string) (what, path, object string, err error) {
	parts := strings.SplitN(text, ":", 3)
	if len(parts) < 2 || parts[0] == "" {
		return "", "", "", cli.Errorf(cli.ExitUsage, "%s: write it %s", cli.Safe(text), form)
	}
	if len(parts) == 3 {
		object = parts[2]
	}
	return parts[0], parts[1], object, nil
}

func newRoleSet(f *cli.Frame) *cobra.Command {
	var flags actFlags
	var rules []string
	c := &cobra.Command{
		Use:   "set NAME",
		Short: "Make a role, or give it other rules",
		Long: `Makes a role of the rules that --rule gives, or gives one other rules. A rule is
RIGHTS:PATH, or RIGHTS:PATH:PREFIX for objects whose names begin with PREFIX; of
rights there are see, acquire, write, delete, operate, admin, cluster, backup.`,
		Example: `  signalbox access role set deploy --rule see:/ --rule operate:/:deploy-`,
		Args:    cli.Arguments("NAME"),
		RunE: func(c *cobra.Command, args []string) error {
			role := admin.AccessRole{Name: args[0]}
			for _, text := range rules {
				names, path, object, err := parsePlace(text, "RIGHTS:PATH, such as see,acquire:/jobs")
				if err != nil {
					return err
				}
				rule := admin.Rule{Path: path, Object: object, Rights: strings.Split(names, ",")}
				role.Rules = append(role.Rules, rule)
			}
			return f.Ask(c, func(ctx context.Context, box *client.Client) error {
				changed, err := admin.Of(box).SetRole(ctx, role, admin.By(flags.by(f)))
				if err == nil {
					reportAct(f, "role "+args[0], "set", changed)
				}
				return err
			})
		},
	}
	c.Flags().StringArrayVar(&rules, "rule", nil, "a rule, `RIGHTS:PATH[:PREFIX]`; may be repeated")
	flags.add(c, "history")
	return c
}

func newRoleDelete(f *cli.Frame) *cobra.Command {
	var flags actFlags
	c := &cobra.Command{
		Use:     "delete NAME",
		Short:   "Delete a role that is not given",
		Long:    `Deletes a role. It is refused while it is given.`,
		Example: `  signalbox access role delete deploy`,
		Args:    cli.Arguments("NAME"),
		RunE: func(c *cobra.Command, args []string) error {
			return f.Ask(c, func(ctx context.Context, box *client.Client) error {
				changed, err := admin.Of(box).DeleteRole(ctx, args[0], admin.By(flags.by(f)))
				if err == nil {
					reportAct(f, "role "+args[0], "deleted", changed)
				}
				return err
			})
		},
	}
	flags.add(c, "history")
	return c
}

func newRoleList(f *cli.Frame) *cobra.Command {
	return &cobra.Command{
		Use:     "list",
		Short:   "List the roles that were made",
		Long:    `Lists the roles that were made, beside those that there always are, with their rules.`,
		Example: `  signalbox access role list`,
		Args:    cli.NoArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			return f.Ask(c, func(ctx context.Context, box *client.Client) error {
				roles, err := admin.Of(box).Roles(ctx)
				if err != nil {
					return err
				}
				rows := f.Rows("ROLE", "RULES")
				for _, r := range roles {
					o, texts := roleObject{Role: r.Name, Rules: []ruleObject{}}, []string(nil)
					for _, rule := range r.Rules {
						o.Rules = append(o.Rules, newRuleObject(rule))
						texts = append(texts, newRuleObject(rule).text())
					}
					if err := rows.Add(o, r.Name, strings.Join(texts, " ")); err != nil {
						return err
					}
				}
				return rows.End()
			})
		},
	}
}

func newAccessToken(f *cli.Frame) *cobra.Command {
	return cli.Group(&cobra.Command{
		Use:   "token",
		Short: "Tokens that the cluster keeps: create, list, revoke",
		Long: `A token that the cluster keeps lets in on every host. The cluster has its hash only:
the secret is printed once. Those of the file of --token-file are made by signalbox
token new.`,
	}, newAccessTokenCreate(f), newAccessTokenList(f), newAccessTokenRevoke(f))
}

// tokenObject is a new token as JSON.
type tokenObject struct {
	Principal string `json:"principal"`
	Token     string `json:"token"`
	Expires   string `json:"expires,omitempty"`
}

func newAccessTokenCreate(f *cli.Frame) *cobra.Command {
	var flags actFlags
	var grants []string
	var valid time.Duration
	c := &cobra.Command{
		Use:   "create NAME",
		Short: "Make a token",
		Long: `Makes a token with the roles that --grant gives, and prints its secret, once. A client
is warned five minutes before its token expires; then its connections are closed.
To change a secret make another token, give it to the clients, and revoke the old.`,
		Example: `  signalbox access token create ci --grant write:/prod/jobs --grant read:/ >ci.token
  signalbox access token create ann --grant root:/ --valid 8h`,
		Args: cli.Arguments("NAME"),
		RunE: func(c *cobra.Command, args []string) error {
			var list []admin.Grant
			for _, text := range grants {
				role, path, object, err := parsePlace(text, "ROLE:PATH, such as write:/prod/jobs")
				if err != nil {
					return err
				}
				list = append(list, admin.Grant{Role: role, Path: path, Object: object})
			}
			o := tokenObject{Principal: "token:" + args[0], Token: access.NewToken()}
			expires := time.Time{}
			if valid > 0 {
				expires = time.Now().Add(valid)
				o.Expires = expires.UTC().Format(accessTime)
			}
			return f.Ask(c, func(ctx context.Context, box *client.Client) error {
				by := admin.By(flags.by(f))
				if _, err := admin.Of(box).CreateToken(ctx, args[0], o.Token, expires, list, by); err != nil {
					return err
				}
				return f.Line(o, "%s", o.Token)
			})
		},
	}
	c.Flags().StringArrayVar(&grants, "grant", nil, "a role that it has, `ROLE:PATH[:PREFIX]`; may be repeated")
	c.Flags().DurationVar(&valid, "valid", 0, "for how long it is good, `DURATION`; for ever without it")
	flags.add(c, "history")
	return c
}

func newAccessTokenList(f *cli.Frame) *cobra.Command {
	return &cobra.Command{
		Use:     "list",
		Short:   "List tokens",
		Long:    `Lists the tokens that the cluster keeps, with their roles; their secrets are nowhere.`,
		Example: `  signalbox access token list -o wide`,
		Args:    cli.NoArguments,
		RunE:    func(c *cobra.Command, _ []string) error { return f.Ask(c, listPrincipals(f, "token:")) },
	}
}

func newAccessTokenRevoke(f *cli.Frame) *cobra.Command {
	var flags actFlags
	c := &cobra.Command{
		Use:     "revoke NAME",
		Short:   "End a token",
		Long:    `Ends a token at once: connections that came with it are closed.`,
		Example: `  signalbox access token revoke ci`,
		Args:    cli.Arguments("NAME"),
		RunE: func(c *cobra.Command, args []string) error {
			return f.Ask(c, func(ctx context.Context, box *client.Client) error {
				changed, err := admin.Of(box).RevokeToken(ctx, args[0], admin.By(flags.by(f)))
				if err == nil {
					reportAct(f, "token "+args[0], "revoked", changed)
				}
				return err
			})
		},
	}
	flags.add(c, "history")
	return c
}
