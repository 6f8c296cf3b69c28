// Package chaos runs real hosts and real clients under faults, for any duration: signalbox processes on this machine,
// SDK clients (some in separate processes), and faults that kill, stop, partition, delay and fill disks according to a
// plan drawn from a seed. Every connection, client to host and host to host, runs through a wire.Wire, which can hold,
// delay and break it.
//
// A run is a series of acts. In an act, programs work in a separate node with separate semaphores while faults begin
// and end. Then the final state is read with STRICT reads, and the rules of test/history check the act's history while
// the next act runs. Residents are a client that works through all acts.
//
// A seed determines the plans of all acts: faults with time, duration and hosts, and the operations that programs try.
// It does not determine the behavior of real processes, disks and schedulers.
//
// Start reading at Run, and at trial, which runs one act. The package requires Linux. docs/testing.md describes
// coverage and usage.
package chaos
