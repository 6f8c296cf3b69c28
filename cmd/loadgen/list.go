package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/signalbox/signalbox/loadgen"
)

// newList returns the command that explains the workloads.
func newList(s streams) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "Explain the workloads",
		Args:  noArguments,
		RunE: func(*cobra.Command, []string) error {
			for _, x := range loadgen.Workloads() {
				fmt.Fprintf(s.out, "%s\n    %s\n    operation: %s\n    checks: %s\n", x.Name, x.Summary, x.Operation, x.Checks)
				if len(x.Settings) > 0 {
					fmt.Fprintf(s.out, "    settings: %s\n", strings.Join(x.Settings, ", "))
				}
			}
			return nil
		},
	}
}
