// Package workload is what clients do in tests with many faults: programs that use semaphores in a session each, one
// operation after the other, watchers that follow semaphores, worker pools that work with staged rollouts (instances,
// publishers, sources and checkers) or are the members of coordination processes, and operators of both. A program
// draws what it does next, and reports everything that it asks for, is answered and believes to a Recorder, so that the
// rules of test/history can check it.
//
// The same programs run in virtual time and in real processes (test/simulation, test/chaos). What differs is given to
// them: the client, the Recorder and the Profile.
//
// Start reading at Workers, which runs the programs and watchers of one client process, Program, WorkerPool and
// Operator.
package workload
