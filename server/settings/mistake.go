package settings

import (
	"fmt"
	"slices"
)

// Mistake is a setting that must be changed before the host can start.
type Mistake struct {
	// Setting is the setting's name, or a text mistaken for a name.
	Setting string
	// Where is the given text with its position: a flag, a variable, or a line in the file.
	Where string
	// Problem is the fault, Remedy the solution.
	Problem, Remedy string
}

// String implements fmt.Stringer.
func (m Mistake) String() string {
	return fmt.Sprintf("%s: %s; %s", m.Where, m.Problem, m.Remedy)
}

// Mistakes are all mistakes in the settings, in table order.
type Mistakes []Mistake

// Error lists all mistakes, one per line.
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

// checker collects mistakes while settings are read and checked.
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

// text returns a setting in documentation form, empty if unset.
func (c *checker) text(setting string) string { return rowOf(setting).field(c.settings).text() }

// subject returns a sentence's subject for a setting's value. The message already shows a given value.
func (c *checker) subject(setting, value string) string {
	if _, known := c.settings.origins[setting]; known {
		return "it"
	}
	return value
}

// rejected reports whether a setting has a known mistake. If so, its value is not the intended one, and no other
// check uses it.
func (c *checker) rejected(settings ...string) bool {
	return slices.ContainsFunc(c.mistakes, func(m Mistake) bool { return slices.Contains(settings, m.Setting) })
}

// err returns the collected mistakes in table order; nil if there are none.
func (c *checker) err() error {
	if len(c.mistakes) == 0 {
		return nil
	}
	// Mistakes without a setting stay first.
	slices.SortStableFunc(c.mistakes, func(a, b Mistake) int { return placeOf(a.Setting) - placeOf(b.Setting) })
	return c.mistakes
}
