package hosts

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/admin"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
	"github.com/signalbox/signalbox/server/join"
)

// newJoinToken is a new join token with its text, which no later command can show.
type newJoinToken struct {
	*admin.JoinInfo
	Text string
}

// newHostToken returns the commands for join tokens.
func newHostToken(f *cli.Frame) *cobra.Command {
	return cli.Group(&cobra.Command{
		Use:   "join-token",
		Short: "Join tokens: create, list, revoke",
		Long: `A host started with a join token and an empty data directory joins the cluster. A token
admits one host and expires. The cluster stores a hash of the secret, never the secret
itself.`,
	}, newHostTokenCreate(f), newHostTokenList(f), newHostTokenRevoke(f))
}

func newHostTokenCreate(f *cli.Frame) *cobra.Command {
	var ttl time.Duration
	var flags cli.ActFlags
	c := &cobra.Command{
		Use:   "create",
		Short: "Create a token for one host to join",
		Long: `Creates a join token and prints it. The token cannot be shown again. Give it to one new
host, in a file with --join-token-file or in the variable SIGNALBOX_JOIN_TOKEN.`,
		Example: `  signalbox host join-token create --ttl 10m >d.token

  # on the new machine
  signalbox serve --join a.example:7421 --name d --join-token-file d.token`,
		RunE: f.Asking(func(ctx context.Context, box *client.Client, _ []string) error {
			return createJoinToken(ctx, f, admin.New(box), ttl, admin.ChangeInfo(flags.By(f)))
		}),
	}
	c.Flags().DurationVar(&ttl, "ttl", time.Hour, "Token lifetime, `DURATION` up to 168h")
	flags.Add(c, "history")
	return c
}

func newHostTokenList(f *cli.Frame) *cobra.Command {
	return &cobra.Command{
		Use:     "list",
		Short:   "List the join tokens",
		Long:    `Lists valid and used join tokens, without their secrets.`,
		Example: `  signalbox host join-token list`,
		RunE: f.Asking(func(ctx context.Context, box *client.Client, _ []string) error {
			return listJoinTokens(ctx, f, admin.New(box))
		}),
	}
}

func newHostTokenRevoke(f *cli.Frame) *cobra.Command {
	var flags cli.ActFlags
	c := &cobra.Command{
		Use:     "revoke ID",
		Short:   "Revoke a join token",
		Long:    `Revokes the join token with this ID: no host can join with the token any more.`,
		Example: `  signalbox host join-token revoke 5f3a`,
		RunE: f.Asking(func(ctx context.Context, box *client.Client, args []string) error {
			changed, err := admin.New(box).RevokeJoinToken(ctx, args[0], admin.ChangeInfo(flags.By(f)))
			return f.ReportAct("join token "+args[0], "revoked", changed, err)
		}),
	}
	flags.Add(c, "history")
	return c
}

func createJoinToken(ctx context.Context, f *cli.Frame, on *admin.Admin, valid time.Duration,
	by admin.ChangeInfo) error {
	token := join.NewToken(join.Authority{})
	j, err := on.CreateJoinToken(ctx, token.ID, token.Hash(), valid, by)
	if err != nil {
		return err
	}
	copy(token.Authority[:], j.Authority)
	f.Say("signalbox: valid for %v; use it with signalbox serve --join %s --name NAME --join-token-file FILE", valid,
		strings.Join(j.Addresses, ","))
	return f.Line(newJoinToken{j, token.String()}, "%s", token.String())
}

func listJoinTokens(ctx context.Context, f *cli.Frame, on *admin.Admin) error {
	tokens, err := on.JoinTokens(ctx)
	if err != nil {
		return err
	}
	return cli.List(f.Rows("ID", "GOOD FOR", "MADE BY", "USED BY"), tokens, func(t admin.JoinToken) []any {
		left := "over"
		if t.Left > 0 {
			left = fmt.Sprint(t.Left.Round(time.Second))
		}
		return []any{t.ID, left, t.Author, shortIncarnation(t.Used)}
	})
}
