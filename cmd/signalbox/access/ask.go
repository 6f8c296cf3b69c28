package access

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/admin"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
	"github.com/signalbox/signalbox/gateway/operation"
	rights "github.com/signalbox/signalbox/protocol/access"
	"github.com/signalbox/signalbox/server/access"
)

// Verdict is whether a principal may do something, and why. A denial has no grant and no rule.
type Verdict struct {
	Allowed   bool
	Principal string
	Grant     *rights.Grant
	Rule      *rights.Rule
}

func newCan(f *cli.Frame) *cobra.Command {
	return &cobra.Command{
		Use:   "can PRINCIPAL RIGHT PATH [OBJECT]",
		Short: "Check whether a principal has a permission",
		Long: `Reports whether a principal has a permission at a path, and by which role and rule.
Without the permission the exit status is 77.`,
		Example: `  signalbox access can token:ci acquire /prod/jobs nightly`,
		RunE: func(c *cobra.Command, args []string) error {
			right, path, object := args[1], args[2], append(args, "")[3]
			if _, known := rights.ParseRight(right); !known {
				return cli.Errorf(cli.ExitUsage, "unknown permission %s; permissions are %s", cli.Safe(right),
					strings.Join(rights.All.Names(), ", "))
			}
			return f.Ask(c, func(ctx context.Context, box *client.Client) error {
				d, err := admin.New(box).Can(ctx, args[0], right, path, object)
				if err != nil {
					return err
				}
				if d == nil {
					if f.JSON() {
						if err := f.Object(Verdict{Principal: args[0]}); err != nil {
							return err
						}
					}
					on := cli.Safe(path)
					if object != "" {
						on = fmt.Sprintf("%s for %s", on, cli.Safe(object))
					}
					return cli.Errorf(cli.ExitNoRight, "no: no role of %s gives %s on %s", cli.Safe(args[0]), right, on)
				}
				return f.Line(Verdict{true, d.Principal, &d.Grant, &d.Rule}, "yes: %s has %s, which allows %s",
					d.Principal, operation.GrantText(&d.Grant), operation.RuleText(&d.Rule))
			})
		},
	}
}

func newDenials(f *cli.Frame) *cobra.Command {
	var limit int
	c := &cobra.Command{
		Use:   "denials",
		Short: "List recently denied requests",
		Long: `Lists the requests that hosts denied for lack of a permission, the newest first. Each
host keeps the last 1,000 since its start, in memory.`,
		Example: `  signalbox access denials --limit 20`,
		RunE: f.Asking(func(ctx context.Context, box *client.Client, _ []string) error {
			list, silent, err := admin.New(box).Denials(ctx, limit)
			if err != nil {
				return err
			}
			for _, address := range silent {
				f.Say("%s did not answer: its denied requests are missing", address)
			}
			rows := f.Rows("AT", "HOST", "WHO", "ADDRESS", "REQUEST", "NEEDS", "PATH", "OBJECT")
			return cli.List(rows, list[:min(limit, len(list))], func(d admin.Denial) []any {
				return []any{d.At, d.Host, d.Who, d.Address, d.Request, strings.Join(d.Rights.Names(), " or "), d.Path,
					d.Object}
			})
		}),
	}
	c.Flags().IntVar(&limit, "limit", 100, "Maximum number, `NUMBER`")
	return c
}

func newImport(f *cli.Frame) *cobra.Command {
	var flags cli.ActFlags
	c := &cobra.Command{
		Use:   "import FILE",
		Short: "Import roles and principals from a file",
		Long: `Creates or replaces the roles and principals in FILE. Roles and principals that are not
in FILE stay unchanged. FILE is YAML or JSON as written by signalbox access export; -
reads standard input. The import needs the role root on /.

An import is idempotent: importing the same file again changes nothing. A file of up to
48 KiB is one change. A larger file takes several changes; if the import fails, import
the file again.`,
		Example: `  signalbox access import access.yaml
  signalbox access export | signalbox access import - --context other`,
		RunE: func(c *cobra.Command, args []string) error {
			text, err := readFile(f, args[0])
			if err != nil {
				return cli.Errorf(cli.ExitUsage, "%w", err)
			}
			rules, err := access.ParseRules(text)
			if err != nil {
				return cli.Errorf(cli.ExitData, "%s:\n  - %w", args[0], err)
			}
			return f.Ask(c, func(ctx context.Context, box *client.Client) error {
				changed, err := admin.New(box).Import(ctx, rules, admin.ChangeInfo(flags.By(f)))
				if err != nil {
					return err
				}
				what := "imported"
				if !changed {
					what = "unchanged: already imported"
				}
				return f.Done(changed, "%d roles and %d principals %s", len(rules.Roles), len(rules.Principals), what)
			})
		},
	}
	flags.Add(c, "history")
	return c
}

func readFile(f *cli.Frame, name string) ([]byte, error) {
	if name == "-" {
		return io.ReadAll(f.In)
	}
	return os.ReadFile(name)
}

func newExport(f *cli.Frame) *cobra.Command {
	return &cobra.Command{
		Use:   "export",
		Short: "Print all roles and principals for an import",
		Long: `Prints the roles and principals of the cluster as YAML for signalbox access import and
signalbox serve --access-file. The output contains hashes of tokens, never the tokens.
The export needs the role root on /.`,
		Example: `  signalbox access export >access.yaml`,
		RunE: f.Asking(func(ctx context.Context, box *client.Client, _ []string) error {
			rules, err := admin.New(box).Export(ctx)
			if err != nil {
				return err
			}
			if f.JSON() {
				return f.Object(rules)
			}
			document, err := access.Document(rules)
			if err != nil {
				return err
			}
			return f.YAML(document)
		}),
	}
}
