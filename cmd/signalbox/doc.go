// Command signalbox is the server and every tool for it, in one binary.
//
// main.go and root.go begin: root.go makes the tree of commands. Each noun has a room, a package with one door: Command
// for one command with the commands below, or Commands. The rooms rollout, process, semaphore, node, config and
// discover have the commands about objects; hosts, access, backup and token the commands about a cluster; lease runs a
// command under a lock; overview shows how a cluster is; serve runs hosts; inspect, contexts and conform need no
// cluster. The room plain makes a command of each row of package operation, so a plain operation has no code here.
// topics.go has the pages of help that belong to no command.
//
// Rooms do not import each other. The packages below internal have the parts that rooms share: cli is the frame of all
// commands, how a command finds the cluster, prints, and ends with a code; runner and child run a command of the user
// and end it; liveview shows an object while the object changes; health reads health issues; adminclient and datadir
// read the admin pages and the data directories of hosts.
//
// A line of use is enough for the arguments: Prepare of package cli makes their check and their completion of the
// words. A command writes data to standard output and everything else to standard error, and returns an error rather
// than ending the process. Most commands are tested as processes: shared_test.go has the host that tests share, and
// runs the commands; testdata/scripts are command lines with the output of each.
package main
