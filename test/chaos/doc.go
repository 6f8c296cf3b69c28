// Package chaos runs real hosts and real clients under faults, for as long as one likes: processes of signalbox
// serve on this machine, clients that use the SDK, some of them processes of their own, and faults that kill, stop,
// cut, delay and fill disks by a plan that is drawn from a seed. Every connection, between clients and hosts and
// between hosts, runs through a Wire, which can hold, delay and break it.
//
// A run is a series of acts. In an act programs work in a node of their own, with semaphores of their own, while faults
// begin and end; then the final state is read strictly, and the history of the act is checked by the rules of
// test/history while the next one runs. Residents are a client that works through all acts.
//
// A seed fixes the plans of all acts: which faults, when, for how long, on which hosts, and what programs try. It does
// not fix what real processes, disks and schedulers make of it.
//
// Start reading at Run, and at trial, which runs one act. The package works on Linux only. docs/testing.md says what is
// covered and how to run it.
package chaos
