package cli

import (
	"cmp"
	"os"
	"strconv"

	"github.com/spf13/cobra"
)

// ActFlags are the author and the reason for an action on an object.
type ActFlags struct{ author, reason string }

// Add adds the flags; kind is the object's kind.
func (a *ActFlags) Add(c *cobra.Command, kind string) {
	c.Flags().StringVar(&a.author, "author", "", "Author recorded in the "+kind+", `TEXT`. Default: USER@MACHINE")
	c.Flags().StringVar(&a.reason, "reason", "", "Reason recorded in the "+kind+", `TEXT`")
}

// ActBy is the author and the reason for an action on an object.
type ActBy struct{ Author, Reason string }

// By returns an action's author and reason.
func (a *ActFlags) By(f *Frame) ActBy {
	return ActBy{cmp.Or(a.author, UserAtMachine(f)), a.reason}
}

// UserAtMachine returns the user's name at this machine, used if no name is given.
func UserAtMachine(f *Frame) string {
	machine, _ := os.Hostname()
	return cmp.Or(f.Variable("USER"), "user "+strconv.Itoa(os.Getuid())) + "@" + cmp.Or(machine, "unknown")
}

// ReportAct prints an action's result.
func (f *Frame) ReportAct(subject, done string, changed bool, err error) error {
	if err != nil {
		return err
	}
	if !changed {
		return f.Done(false, "%s was already %s", Safe(subject), done)
	}
	return f.Done(true, "%s is %s", Safe(subject), done)
}
