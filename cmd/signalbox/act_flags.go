package main

import (
	"os"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
)

// actFlags say who does something with an object, and why.
type actFlags struct{ author, reason string }

// add adds the flags; the object is of this kind.
func (a *actFlags) add(c *cobra.Command, kind string) {
	c.Flags().StringVar(&a.author, "author", "", "who does it, `TEXT` that the "+kind+" keeps; USER@MACHINE where it is not given")
	c.Flags().StringVar(&a.reason, "reason", "", "why, `TEXT` that the "+kind+" keeps")
}

// actBy is who does something with an object, and why.
type actBy struct{ Author, Reason string }

// by returns who does it, and why.
func (a *actFlags) by(f *cli.Frame) actBy {
	if a.author != "" {
		return actBy{a.author, a.reason}
	}
	return actBy{userAtMachine(f), a.reason}
}

// userAtMachine is who this is, where the user does not say it.
func userAtMachine(f *cli.Frame) string {
	user := f.Variable("USER")
	if user == "" {
		user = "user " + strconv.Itoa(os.Getuid())
	}
	machine, err := os.Hostname()
	if err != nil {
		machine = "unknown"
	}
	return user + "@" + machine
}
