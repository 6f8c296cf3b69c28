// Package settings is the configuration of a host. Each setting can be a flag, an environment variable or a line of a
// YAML file, under one name.
//
// Every setting is a row of one table (table.go): its name, its group, its purpose, and its field of Settings. The
// flag, the variable, the line in the file and docs/settings.md all come from the row, so they cannot differ. All
// sources hand over text, and the text of all of them goes through one parser and one set of checks.
//
// Load gathers mistakes into one error, Mistakes: all settings to change, the place of each, and the right way.
//
// Where to start reading: Settings in settings.go, then table.go and Load in load.go. The checks are in hosts.go,
// listener.go, protection.go and limits.go.
package settings
