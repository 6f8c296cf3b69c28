// Command bench runs the same workloads against Signalbox and other coordination services, in turn on one machine, and
// compares them.
//
// It is a separate module, so that users of the Signalbox client do not get its peers' requirements. Everything runs as
// separate processes on the loopback interface: the servers, with their data in one temporary directory, and the load
// generators. README.md explains the use and the comparisons.
package main
