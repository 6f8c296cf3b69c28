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
	*admin.Joining
	Text string
}

func newHostToken(f *cli.Frame) *cobra.Command {
	var valid time.Duration
	var list bool
	var revoke string
	var flags cli.ActFlags
	c := &cobra.Command{
		Use:   "join-token",
		Short: "Make a token by which one host joins",
		Long: `Makes a join token: a host that is started with it, and with an empty data directory,
becomes one of the hosts of the cluster. It is good for one host and for a while.
The token is printed once, and no host has its secret: the cluster keeps a hash.

--list shows the tokens that there are, --revoke makes one useless.`,
		Example: `  signalbox host join-token --valid 10m >d.token

  # on the new machine
  signalbox serve --join a.example:7421 --name d --join-token-file d.token`,
		RunE: f.Asking(func(ctx context.Context, box *client.Client, _ []string) error {
			on, by := admin.Of(box), admin.By(flags.By(f))
			switch {
			case list:
				return listJoinTokens(ctx, f, on)
			case revoke != "":
				changed, err := on.RevokeJoinToken(ctx, revoke, by)
				return f.ReportAct("join token "+revoke, "revoked", changed, err)
			}
			return createJoinToken(ctx, f, on, valid, by)
		}),
	}
	c.Flags().DurationVar(&valid, "valid", time.Hour, "for how long it is good: `DURATION` up to 168h")
	c.Flags().BoolVar(&list, "list", false, "list the tokens instead")
	c.Flags().StringVar(&revoke, "revoke", "", "make the token of this `ID` useless instead")
	c.MarkFlagsMutuallyExclusive("list", "revoke")
	flags.Add(c, "history")
	return c
}

func createJoinToken(ctx context.Context, f *cli.Frame, on *admin.Admin, valid time.Duration, by admin.By) error {
	token := join.NewToken(join.Authority{})
	j, err := on.CreateJoinToken(ctx, token.ID, token.Hash(), valid, by)
	if err != nil {
		return err
	}
	copy(token.Authority[:], j.Authority)
	f.Say("signalbox: good for %v: signalbox serve --join %s --name NAME --join-token-file FILE", valid,
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
		return []any{t.ID, left, t.By, shortIncarnation(t.Used)}
	})
}
