package settings

import (
	"fmt"
	"strings"
)

// Mistake is a setting to change before a host can start.
type Mistake struct {
	// Setting is the name of the setting, or a text taken for a name.
	Setting string
	// Where is the given text with its place: a flag, a variable, a line of the file.
	Where string
	// Problem is the fault, Remedy the way out.
	Problem, Remedy string
}

// String implements fmt.Stringer.
func (m Mistake) String() string {
	return fmt.Sprintf("%s: %s; %s", m.Where, m.Problem, m.Remedy)
}

// Mistakes are all mistakes in the settings, in the order of the table.
type Mistakes []Mistake

// Error lists all mistakes, every mistake on its own line.
func (m Mistakes) Error() string {
	var b strings.Builder
	if len(m) == 1 {
		b.WriteString("one setting must be changed:")
	} else {
		fmt.Fprintf(&b, "%d settings must be changed:", len(m))
	}
	for _, mistake := range m {
		b.WriteString("\n  - ")
		b.WriteString(mistake.String())
	}
	return b.String()
}

// checker gathers mistakes while settings are read and checked.
type checker struct {
	settings *Settings
	mistakes Mistakes
}

// reject records a mistake in a setting.
func (c *checker) reject(setting, problem, remedy string) {
	where, known := c.settings.origins[setting]
	if !known {
		where = "--" + rowOf(setting).flagName()
	}
	c.mistakes = append(c.mistakes, Mistake{Setting: setting, Where: where, Problem: problem, Remedy: remedy})
}

// subject stands for the value of a setting in a sentence: the message shows a given value already.
func (c *checker) subject(setting, value string) string {
	if _, known := c.settings.origins[setting]; known {
		return "it"
	}
	return value
}

// rejected reports whether a setting has a known mistake: then its value is not the intended value, and no other
// check uses the value.
func (c *checker) rejected(settings ...string) bool {
	for _, m := range c.mistakes {
		for _, s := range settings {
			if m.Setting == s {
				return true
			}
		}
	}
	return false
}

// err returns the gathered mistakes, in the order of the table; nil without mistakes.
func (c *checker) err() error {
	if len(c.mistakes) == 0 {
		return nil
	}
	var sorted Mistakes
	unknown := c.mistakes // mistakes about no setting stay in front
	for _, r := range table {
		var rest Mistakes
		for _, m := range unknown {
			if m.Setting == r.name {
				sorted = append(sorted, m)
			} else {
				rest = append(rest, m)
			}
		}
		unknown = rest
	}
	return append(unknown, sorted...)
}
