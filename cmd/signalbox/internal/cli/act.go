package cli

import (
	"cmp"
	"os"
	"strconv"

	"github.com/spf13/cobra"
)

// ActFlags say who does something with an object, and why.
type ActFlags struct{ author, reason string }

// Add adds the flags; the object is of this kind.
func (a *ActFlags) Add(c *cobra.Command, kind string) {
	c.Flags().StringVar(&a.author, "author", "", "Author recorded in the "+kind+", `TEXT`. Default: USER@MACHINE")
	c.Flags().StringVar(&a.reason, "reason", "", "Reason recorded in the "+kind+", `TEXT`")
}

// ActBy is who does something with an object, and why.
type ActBy struct{ Author, Reason string }

// By returns the author and the reason of an act.
func (a *ActFlags) By(f *Frame) ActBy {
	return ActBy{cmp.Or(a.author, UserAtMachine(f)), a.reason}
}

// UserAtMachine is the name of the user at this machine, for users that give no name.
func UserAtMachine(f *Frame) string {
	machine, _ := os.Hostname()
	return cmp.Or(f.Variable("USER"), "user "+strconv.Itoa(os.Getuid())) + "@" + cmp.Or(machine, "unknown")
}

// ReportAct says what became of an act.
func (f *Frame) ReportAct(subject, done string, changed bool, err error) error {
	if err != nil {
		return err
	}
	if !changed {
		return f.Done(false, "%s was %s already", Safe(subject), done)
	}
	return f.Done(true, "%s is %s", Safe(subject), done)
}
