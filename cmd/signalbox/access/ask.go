package access

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/admin"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
	"github.com/signalbox/signalbox/gateway/operation"
	"github.com/signalbox/signalbox/protocol/rights"
	"github.com/signalbox/signalbox/server/access"
)

// Verdict says whether a principal may do something, and why.
type Verdict struct {
	Allowed bool
	admin.Decision
}

func newCan(f *cli.Frame) *cobra.Command {
	return &cobra.Command{
		Use:   "can PRINCIPAL RIGHT PATH [OBJECT]",
		Short: "Explain whether a principal may do something",
		Long: `Says whether a principal has a right at a path, and by which role and rule. It ends
with code 77 where it has not.`,
		Example: `  signalbox access can token:ci acquire /prod/jobs nightly`,
		RunE: func(c *cobra.Command, args []string) error {
			right, path, object := args[1], args[2], append(args, "")[3]
			if _, known := rights.ParseRight(right); !known {
				return cli.Errorf(cli.ExitUsage, "%s is no right; there are %s", cli.Safe(right),
					strings.Join(rights.All.Names(), ", "))
			}
			return f.Ask(c, func(ctx context.Context, box *client.Client) error {
				d, err := admin.Of(box).Can(ctx, args[0], right, path, object)
				if err != nil {
					return err
				}
				if d == nil {
					if f.JSON() {
						if err := f.Object(Verdict{Decision: admin.Decision{Principal: args[0]}}); err != nil {
							return err
						}
					}
					on := cli.Safe(path)
					if object != "" {
						on = fmt.Sprintf("%s for %s", on, cli.Safe(object))
					}
					return cli.Errorf(cli.ExitNoRight, "no: no role of %s gives %s on %s", cli.Safe(args[0]), right, on)
				}
				return f.Line(Verdict{true, *d}, "yes: %s has %s, which allows %s", d.Principal,
					operation.GrantText(&d.Grant), operation.RuleText(&d.Rule))
			})
		},
	}
}

func newDenials(f *cli.Frame) *cobra.Command {
	var limit int
	c := &cobra.Command{
		Use:   "denials",
		Short: "List the latest requests that were refused",
		Long: `Asks all hosts for the latest requests that they have refused for want of a right,
the newest first. A host keeps the last 1,000 since its start, in memory.`,
		Example: `  signalbox access denials --limit 20`,
		RunE: f.Asking(func(ctx context.Context, box *client.Client, _ []string) error {
			list, silent, err := admin.Of(box).Denials(ctx, limit)
			if err != nil {
				return err
			}
			for _, address := range silent {
				f.Say("%s did not answer: its refusals are missing", address)
			}
			rows := f.Rows("AT", "HOST", "WHO", "ADDRESS", "REQUEST", "NEEDS", "PATH", "OBJECT")
			return cli.List(rows, list[:min(limit, len(list))], func(d admin.Denial) []any {
				return []any{d.At, d.Host, d.Who, d.Address, d.Request, strings.Join(d.Rights.Names(), " or "), d.Path,
					d.Object}
			})
		}),
	}
	c.Flags().IntVar(&limit, "limit", 100, "Maximum `NUMBER` of entries")
	return c
}

func newImport(f *cli.Frame) *cobra.Command {
	var flags cli.ActFlags
	c := &cobra.Command{
		Use:   "import FILE",
		Short: "Take over the tokens of a file of --token-file",
		Long: `Makes a token of the cluster of each token in a file of --token-file, with its roles
and paths. The secrets stay what they are, so clients notice nothing. What is there
already stays. Of two tokens with one name the second gets -2 behind it.`,
		Example: `  signalbox access import tokens.yaml`,
		RunE: func(c *cobra.Command, args []string) error {
			text, err := os.ReadFile(args[0])
			if err != nil {
				return cli.Errorf(cli.ExitUsage, "%w", err)
			}
			entries, err := access.Entries(text)
			if err != nil {
				return cli.Errorf(cli.ExitData, "%s:\n  - %w", args[0], err)
			}
			return f.Ask(c, func(ctx context.Context, box *client.Client) error {
				return importTokens(ctx, f, admin.Of(box), entries, admin.By(flags.By(f)))
			})
		},
	}
	flags.Add(c, "history")
	return c
}

// importTokens makes one token of all entries with one hash.
func importTokens(ctx context.Context, f *cli.Frame, on *admin.Admin, entries []access.Entry, by admin.By) error {
	taken, made := map[string]string{}, 0
	var hashes []string
	grants, names := map[string][]admin.Grant{}, map[string]string{}
	for _, e := range entries {
		hash := strings.ToLower(e.SHA256)
		if _, seen := names[hash]; !seen {
			name := e.Name
			for n := 2; taken[name] != ""; n++ {
				name = fmt.Sprintf("%s-%d", e.Name, n)
			}
			hashes, names[hash], taken[name] = append(hashes, hash), name, hash
		}
		for _, role := range e.Roles {
			for _, path := range e.Paths {
				grants[hash] = append(grants[hash], admin.Grant{Role: string(role), Path: path})
			}
		}
	}
	for _, hash := range hashes {
		sum, err := hex.DecodeString(hash)
		if err != nil {
			return err
		}
		changed, err := on.CreateTokenOf(ctx, names[hash], [32]byte(sum), time.Time{}, grants[hash], by)
		switch {
		case errors.Is(err, client.ErrAlreadyExists):
			f.Say("token %s is there already, and stays", names[hash])
		case err != nil:
			return err
		case changed:
			made++
		}
	}
	f.Say("%d of %d tokens were made", made, len(hashes))
	return nil
}
