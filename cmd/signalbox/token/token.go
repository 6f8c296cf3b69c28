// Package token has the commands that make access tokens.
package token

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
	"github.com/signalbox/signalbox/server/access"
)

// Command returns the commands about access tokens.
func Command(s cli.Streams) *cobra.Command {
	return cli.Group(&cobra.Command{
		Use:   "token",
		Short: "Make access tokens",
		Long: `A host that was started with --token-file lets in only clients with a token of that
file, and each of them does only what its token allows. The file has hashes of
tokens, never the tokens themselves. It is read again when it changes.`,
	}, newTokenNew(s))
}

func newTokenNew(s cli.Streams) *cobra.Command {
	var name string
	var roles, paths []string
	c := &cobra.Command{
		Use:   "generate",
		Short: "Make a token, and the line for the file of tokens",
		Long: `Makes a token and prints it, with the line that lets it in. The token goes to
whoever is to use it and is kept nowhere else; the line goes into the file that
the hosts have as --token-file, on every host.

Roles, each with the rights of those before it:
  read      describe, list and watch
  write     sessions; create, update, resize, acquire and release semaphores; take
            part in rollouts and processes
  operator  delete semaphores; end sessions of others; make and steer rollouts and
            processes
  admin     create, change and drop nodes; give rights
  root      hosts, backups: all of the cluster; for the path / only

A path covers the node of that path and every node below it: /prod covers /prod
and /prod/jobs, and not /production. / covers all.`,
		Example: `  # a service that works in one node
  signalbox token generate --name billing --role write --path /prod/billing

  # a dashboard that sees everything, an operator who may do everything
  signalbox token generate --name dashboard --role read --path /
  signalbox token generate --name ann --role admin --path /

  # only the line, for a script: it is the last one
  signalbox token generate --name ci --role write --path /ci | tail -n 1 >> tokens.yaml`,
		RunE: func(*cobra.Command, []string) error {
			token := access.NewToken()
			given := cli.Map(roles, func(r string) access.Role { return access.Role(strings.ToLower(r)) })
			entry := access.NewEntry(name, token, given, paths)
			if err := entry.Check(); err != nil {
				return cli.Errorf(cli.ExitUsage, "no token was made:\n  - %w", err)
			}
			fmt.Fprintf(s.Out, "The token, for %s and nobody else:\n\n  %s\n\n", name, token)
			fmt.Fprintf(s.Out, "The line for the file of --token-file, on every host:\n\n%s\n", entry.Line())
			return nil
		},
	}
	c.Flags().StringVar(&name, "name", "", "`NAME` of the token holder; shown in logs")
	c.Flags().StringSliceVar(&roles, "role", nil, "`ROLE` of the token: "+access.Roles+". May be repeated")
	c.Flags().StringSliceVar(&paths, "path", nil, "`PATH` of a node to which the token applies, with all nodes "+
		"below. May be repeated")
	return c
}
