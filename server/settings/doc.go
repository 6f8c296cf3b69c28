// Package settings defines a host's configuration. Every setting can be a flag, an environment variable or a line in
// a YAML file, with the same name.
//
// Every setting is a row in one table (table.go): its name, group, help text, and field in Settings. The flag, the
// variable, the line in the file and docs/settings.md all come from the row, so they cannot differ. All sources
// provide text, and all text goes through one parser and one set of checks.
//
// Load collects mistakes in one error, Mistakes: all settings to change, where each was set, and the remedy.
//
// Where to start reading: Settings in settings.go, then table.go and Load in load.go. The checks are in hosts.go,
// listener.go, protection.go and limits.go.
package settings
