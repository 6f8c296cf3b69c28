// Command bench runs the same workloads against Signalbox and other coordination services, in turn on one machine, and
// compares the results.
//
// The command is a separate module, so that users of the Signalbox client do not inherit the peers' requirements.
// Servers and load generators run as separate processes on the loopback interface, with the servers' data in one
// temporary directory. README.md explains the use and the comparisons.
package main
