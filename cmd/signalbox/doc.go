// Command signalbox is the server and every tool for it, in one binary.
//
// main.go and root.go begin; each command is a file that is named after it and returns a *cobra.Command,
// which root.go lists. A command writes data to standard output and everything else to standard error,
// returns an error rather than ending the process, and says with exitWith which code it ends with
// (exit.go).
//
// What serve runs is in running.go, what it takes hold of first in claiming.go, how it ends in stopping.go,
// and what it shows over HTTP in view.go.
package main
