package settings

import (
	"fmt"
	"slices"
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
	text := "one setting must be changed:"
	if len(m) != 1 {
		text = fmt.Sprintf("%d settings must be changed:", len(m))
	}
	for _, mistake := range m {
		text += "\n  - " + mistake.String()
	}
	return text
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
		where = "--" + rowOf(setting).name
	}
	c.mistakes = append(c.mistakes, Mistake{Setting: setting, Where: where, Problem: problem, Remedy: remedy})
}

// text is a setting in the form for the docs, empty for an unset setting.
func (c *checker) text(setting string) string { return rowOf(setting).field(c.settings).text() }

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
	return slices.ContainsFunc(c.mistakes, func(m Mistake) bool { return slices.Contains(settings, m.Setting) })
}

// err returns the gathered mistakes, in the order of the table; nil without mistakes.
func (c *checker) err() error {
	if len(c.mistakes) == 0 {
		return nil
	}
	// Mistakes about no setting stay in front.
	slices.SortStableFunc(c.mistakes, func(a, b Mistake) int { return placeOf(a.Setting) - placeOf(b.Setting) })
	return c.mistakes
}
