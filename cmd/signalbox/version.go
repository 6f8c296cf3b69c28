package main

import (
	"cmp"
	"fmt"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
)

// version is set by releases with -ldflags "-X main.version=v1.2.3". Otherwise it is what the Go tool
// knows.
var version string

// newVersion returns the command that prints the version.
func newVersion(s cli.Streams) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version of this program",
		Long: `Prints the version of this program, as --version does. signalbox status has those of
hosts.`,
		Example: `  signalbox version`,
		Args:    cli.NoArguments,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintf(s.Out, "signalbox %s\n", programVersion())
			return err
		},
	}
}

// programVersion is the version as hosts report it to each other: printable ASCII, no spaces, not long.
func programVersion() string {
	v := version
	if info, ok := debug.ReadBuildInfo(); ok && v == "" {
		v = info.Main.Version
	}
	if v == "(devel)" {
		v = ""
	}
	v = strings.Map(func(r rune) rune {
		if r <= ' ' || r > '~' {
			return -1
		}
		return r
	}, cmp.Or(v, "devel"))
	return v[:min(len(v), 64)]
}
