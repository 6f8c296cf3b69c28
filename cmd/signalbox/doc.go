// Command signalbox is the server and every tool for it, in one binary.
//
// Start at main.go and root.go: root.go builds the command tree. Every noun has its own package with one entry point:
// Command for one command with its subcommands, or Commands. The packages rollout, process, semaphore, node, config
// and discover contain the commands for objects; hosts, access, backup and token the commands for a cluster; lease
// runs a command under a lock; status shows cluster health; serve runs hosts; inspect, contexts and conform need no
// cluster. Package optable creates a command from every row in package operation, so a plain operation has no code
// here. topics.go contains the help pages that belong to no command.
//
// These packages do not import each other. The packages in internal contain their shared parts: cli is the frame for
// all commands, which finds the cluster, prints, and sets the exit code; runner and child run a user's command and
// end it; liveview shows an object while it changes; health reads health issues; adminclient and datadir read hosts'
// admin pages and data directories.
//
// A command's usage line determines its arguments: Prepare in package cli derives argument checks and completion from
// the line's words. A command writes data to standard output and everything else to standard error, and returns an
// error instead of ending the process. Most commands are tested as processes: shared_test.go contains the host that
// tests share, and runs the commands; testdata/scripts contains command lines with their output.
package main
