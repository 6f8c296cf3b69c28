// Command signalbox is the server and every tool for it, in one binary.
//
// main.go and root.go begin; each command is a file that is named after it and returns a *cobra.Command,
// which root.go lists. What commands have in common is in internal/cli: how they find the cluster, how they
// print, and the codes that they end with. A command writes data to standard output and everything else to
// standard error, and returns an error rather than ending the process.
//
// serve runs a host of the package server/host, and demo.go, which is serve --demo, three of them; process.go has what
// both do to the process: signals, exit codes, the logger.
//
// lock and elect run a command under a lease: lease_runner.go has what they share, and internal/child when and how
// such a command is ended. rollout follow, gate and source run one again and again: rollout_runner.go. top and check
// read the admin pages of hosts (internal/pages), inspect a data directory (internal/datadir).
//
// Commands are tested as processes. shared_test.go has the host that they share, and runs them;
// testdata/scripts are command lines with what they print.
package main
