// Package settings is what a host can be told from outside: by a flag, by a variable of the environment,
// or by a line of a YAML file, under one name.
//
// Every setting is a row of one table (table.go): its name, where it belongs, what it is for, and the
// field of Settings that it fills. The flag, the variable, the line in the file and docs/settings.md all
// come from that row, so they cannot differ. Each source hands over text, and the text of all of them
// goes through the same parser and the same checks.
//
// What is wrong is gathered, not met one at a time: Load returns one error, Mistakes, with everything
// that must be changed, where it was said, and what to say instead.
package settings
