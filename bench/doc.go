// Command bench runs the same workloads against Signalbox and other coordination services, in turn on one machine, and
// compares them.
//
// It is a module of its own, so that users of the Signalbox client do not get the requirements of its
// peers. Everything runs as processes of their own on the loopback interface: the servers, with their
// data in one temporary directory, and the load generators. README.md says how to run it and what is
// compared with what.
package main
