// Command signalbox is the server and every tool for it, in one binary.
//
// main.go and root.go begin; each command is a file that is named after it and returns a *cobra.Command,
// which root.go lists. What commands have in common is in internal/cli: how they find the cluster, how they
// print, and the codes that they end with. A command writes data to standard output and everything else to
// standard error, and returns an error rather than ending the process.
//
// What serve runs is in running.go, what it takes hold of first in claiming.go, how it ends in stopping.go,
// and what it shows over HTTP in view.go.
//
// lock and elect run a command under a lease: lock_keeper.go has what they share, and internal/child when and how
// such a command is ended. top and check read the admin pages of hosts (internal/pages), inspect a data directory
// (internal/datadir). demo.go is serve --demo.
//
// Commands are tested as processes. shared_test.go has the host that they share, and runs them;
// testdata/scripts are command lines with what they print.
package main
