package cli

import (
	"errors"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// FlagError adds to an error about a wrong flag what the user can do. An unknown command comes first, because its flags
// are unknown too.
func FlagError(c *cobra.Command, err error) error {
	if c.HasAvailableSubCommands() && c.Flags().NArg() > 0 {
		return NoArguments(c, c.Flags().Args())
	}
	hint := c.CommandPath() + " --help lists the flags"
	unknown, ok := errors.AsType[*pflag.NotExistError](err)
	text, parser, _ := strings.Cut(err.Error(), " flag: ")
	switch {
	case strings.HasPrefix(parser, "time: "):
		return Errorf(ExitUsage, "%s flag; use a duration such as 500ms, 10s or 1m", text)
	case strings.HasPrefix(parser, "strconv."):
		return Errorf(ExitUsage, "%s flag; use a whole number", text)
	case ok && unknown.GetSpecifiedName() == formatJSON && c.Flags().Lookup(outputFlag) != nil:
		hint = "use -o json for JSON"
	case ok:
		if near := nearestFlag(c.Flags(), unknown.GetSpecifiedName()); near != "" {
			hint = "did you mean --" + near + "?"
		}
	}
	return Errorf(ExitUsage, "%w; %s", err, hint)
}

// nearestFlag returns the flag most similar to a name, empty if missing. As many letters may be wrong as leave the
// word recognisable; a unique prefix matches its flag.
func nearestFlag(flags *pflag.FlagSet, name string) (near string) {
	if len(name) < 2 {
		return ""
	}
	least := 2 * 3
	if len(name) < 5 {
		least = 2 * 2
	}
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		away := 2 * distance(name, f.Name)
		if strings.HasPrefix(f.Name, name) {
			away = min(away, 2*1+1) // after flags with one wrong letter
		}
		if away < least {
			near, least = f.Name, away
		}
	})
	return near
}

// distance returns the number of letters to insert, delete or change to turn one word into another.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		last := row[0]
		row[0] = i + 1
		for j := range len(b) {
			changed := last
			if a[i] != b[j] {
				changed++
			}
			last = row[j+1]
			row[j+1] = min(changed, last+1, row[j]+1)
		}
	}
	return row[len(b)]
}
