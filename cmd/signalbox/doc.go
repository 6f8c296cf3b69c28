// Command signalbox is the server and every tool for it, in one binary.
//
// main.go and root.go begin. A command, or the commands of one noun, have a package of their own with one door,
// Command, which root.go calls: conform, inspect and token. The other commands are still files of this package, named
// after their nouns, each with a function that returns a *cobra.Command. What packages share is in internal/cli: how
// commands find the cluster, how they print, and the codes that they end with. A command writes data to standard output
// and everything else to standard error, and returns an error rather than ending the process.
//
// serve runs a host of the package server/host, and demo.go, which is serve --demo, three of them.
//
// lock and elect run a command under a lease: lease_runner.go has what they share, and internal/child when and how
// such a command is ended. top and check read the admin pages of hosts
// (internal/pages), inspect a data directory (internal/datadir).
//
// Commands are tested as processes. shared_test.go has the host that they share, and runs them;
// testdata/scripts are command lines with what they print.
package main
