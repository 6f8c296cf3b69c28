// Package token implements the commands that create access tokens.
package token

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
	rights "github.com/signalbox/signalbox/protocol/access"
	"github.com/signalbox/signalbox/server/access"
)

// Command returns the commands for access tokens.
func Command(s cli.Streams) *cobra.Command {
	return cli.Group(&cobra.Command{
		Use:   "token",
		Short: "Make tokens for files of access rules",
		Long: `Generates tokens for the files given by --access-file and --token-file, without asking a
host. The files contain token hashes, never the tokens.

To create a token in a running cluster, use signalbox access token create.`,
	}, newTokenNew(s))
}

func newTokenNew(s cli.Streams) *cobra.Command {
	var name string
	var grants []string
	c := &cobra.Command{
		Use:   "generate",
		Short: "Make a token and its line for a file",
		Long: `Generates a random token and prints it, with a line for the principals in an access
rules file. Give the token to its user: the token is not stored anywhere. The line
contains the token's hash, and is printed last.

A token with the role root on /, the default, can also be in the --token-file.`,
		Example: `  # a root token for emergencies
  echo principals: >root-tokens.yaml
  signalbox token generate --name ops | tail -n 1 >>root-tokens.yaml

  # a service that works in one node
  signalbox token generate --name billing --grant write:/prod/billing`,
		RunE: func(*cobra.Command, []string) error {
			list, err := cli.ParseGrants(grants)
			if err != nil {
				return err
			}
			of := rights.Identity{Kind: rights.Token, Name: name}
			if err := of.Check(); err != nil {
				return cli.Errorf(cli.ExitUsage, "cannot generate a token: %w; give a valid --name", err)
			}
			token := access.NewToken()
			line, err := access.Line(rights.Principal{Name: of.String(), SHA256: access.HashText(token), Grants: list})
			if err != nil {
				return err
			}
			fmt.Fprintf(s.Out, "Token for %s:\n\n  %s\n\n", name, token)
			fmt.Fprintf(s.Out, "Line for the principals in the access rules file:\n\n%s\n", line)
			return nil
		},
	}
	c.Flags().StringVar(&name, "name", "", "Token `NAME`, shown in logs")
	c.Flags().StringArrayVar(&grants, "grant", []string{"root:/"},
		"Role to grant, `ROLE:PATH[:PREFIX]`. May be repeated")
	return c
}
