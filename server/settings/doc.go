// Package settings is the configuration of a host: each setting can be given by a flag, by a variable of the
// environment, or by a line of a YAML file, under one name.
//
// Every setting is a row of one table (table.go): its name, where it belongs, what it is for, and the
// field of Settings that it fills. The flag, the variable, the line in the file and docs/settings.md all
// come from that row, so they cannot differ. Each source hands over text, and the text of all of them
// goes through the same parser and the same checks.
//
// Load gathers what is wrong into one error, Mistakes: everything that must be changed, where it was given, and what to
// give instead.
//
// Where to start reading: Settings in settings.go, then table.go and Load in load.go. The checks are in hosts.go,
// listener.go, protection.go and limits.go.
package settings
