// Package contexts implements the commands for contexts, which are named cluster connection settings. Start at
// Command; package cli reads and writes the context file.
package contexts

import (
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
)

// Command returns the context commands.
func Command(f *cli.Frame) *cobra.Command {
	return f.Command(cli.Group(&cobra.Command{
		Use:   "context",
		Short: "Contexts, named clusters: list, show, use, set, delete",
		Long: `A context is a named set of connection settings: endpoints, a token file, TLS and a
timeout. Commands use the current context unless --context or SIGNALBOX_CONTEXT names
another.

Contexts are in $HOME/.config/signalbox/contexts.yaml, or in the file that
SIGNALBOX_CONTEXT_FILE names. signalbox help connection shows the format.`,
	}, newList(f), newShow(f), newUse(f), newSet(f), newDelete(f)))
}

// Object is a context in a list.
type Object struct {
	Name     string
	Current  bool
	Settings cli.Context
}

func newList(f *cli.Frame) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List contexts",
		Long:  "Lists the contexts, and marks the current one.",
		Example: `  signalbox context list
  signalbox context list -o json | jq -r 'select(.current) | .name'`,
		RunE: func(*cobra.Command, []string) error {
			contexts, err := f.LoadContexts()
			if err != nil {
				return err
			}
			rows := f.Rows("CURRENT", "NAME", "ENDPOINTS", "+TOKEN FILE", "+TLS CA", "+TIMEOUT")
			for _, name := range contexts.Names() {
				k := contexts.Contexts[name]
				mark := "-"
				if name == contexts.Current {
					mark = "*"
				}
				rows.Add(Object{name, name == contexts.Current, k}, mark, name, k["endpoints"],
					k["token-file"], k["tls-ca"], k["timeout"])
			}
			return rows.End()
		},
	}
}

// Setting is an effective setting, in printed form.
type Setting struct {
	Setting string
	Value   string
	From    string
}

func newShow(f *cli.Frame) *cobra.Command {
	return &cobra.Command{
		Use:   "show [NAME]",
		Short: "Show the connection settings in effect, and their origin",
		Long: `Shows how the cluster would be reached, and the origin of each setting: flag,
environment variable, context or default. NAME has the effect of --context NAME.`,
		Example: `  signalbox context show
  signalbox context show prod`,
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) > 0 {
				if err := c.Flags().Set("context", args[0]); err != nil {
					return err
				}
			}
			k, err := f.Settings()
			if err != nil {
				return err
			}
			rows := f.Rows("SETTING", "VALUE", "FROM")
			k.Each(func(name string, given cli.Given) {
				rows.Add(Setting{name, given.Text, given.From}, name, given.Text, given.From)
			})
			return rows.End()
		},
	}
}

// change changes the context file, and prints what was done.
func change(f *cli.Frame, how func(*cli.Contexts) (done string, err error)) error {
	var done string
	err := f.ChangeContexts(func(contexts *cli.Contexts) (err error) {
		done, err = how(contexts)
		return err
	})
	if err == nil {
		f.Say("%s", done)
	}
	return err
}

func newUse(f *cli.Frame) *cobra.Command {
	return &cobra.Command{
		Use:     "use NAME",
		Short:   "Select the current context",
		Long:    "Makes a context the current context, which commands use by default.",
		Example: `  signalbox context use prod`,
		RunE: func(_ *cobra.Command, args []string) error {
			return change(f, func(contexts *cli.Contexts) (string, error) {
				contexts.Current = args[0]
				_, err := contexts.Get(args[0])
				return fmt.Sprintf("the current context is %s", cli.Safe(args[0])), err
			})
		},
	}
}

func newSet(f *cli.Frame) *cobra.Command {
	return &cobra.Command{
		Use:   "set NAME [--endpoints ADDRESSES] [--token-file FILE] ...",
		Short: "Create or change a context",
		Long: `Creates a context from the flags, or changes the given settings; an empty value ('')
removes a setting. The flags are the connection flags of every command (signalbox help
connection). File names are stored as absolute paths. The first context becomes the
current context.

The context is not tested: run signalbox status --context NAME.`,
		Example: `  signalbox context set local --endpoints 127.0.0.1:7420

  signalbox context set prod --endpoints a.example:7423,b.example:7423,c.example:7423 \
      --tls-ca /etc/signalbox/ca.pem --token-file ~/.config/signalbox/prod.token

  # no time limit of its own any more
  signalbox context set prod --timeout ''`,
		RunE: func(_ *cobra.Command, args []string) error {
			given, err := f.Given(filepath.Abs)
			if err != nil {
				return err
			}
			return change(f, func(contexts *cli.Contexts) (string, error) {
				err := contexts.Set(args[0], given)
				return fmt.Sprintf("context %s is set; the current context is %s", cli.Safe(args[0]),
					cli.Safe(contexts.Current)), err
			})
		},
	}
}

func newDelete(f *cli.Frame) *cobra.Command {
	return &cobra.Command{
		Use:     "delete NAME",
		Short:   "Delete a context",
		Long:    "Removes a context from the file. The cluster is not changed.",
		Example: `  signalbox context delete test`,
		RunE: func(_ *cobra.Command, args []string) error {
			return change(f, func(contexts *cli.Contexts) (string, error) {
				_, err := contexts.Get(args[0])
				delete(contexts.Contexts, args[0])
				if contexts.Current == args[0] {
					contexts.Current = ""
				}
				done := fmt.Sprintf("context %s is deleted", cli.Safe(args[0]))
				if contexts.Current == "" {
					done += "; there is no current context now"
				}
				return done, err
			})
		},
	}
}
