// Package workload contains client workloads for tests with many faults: programs that use semaphores in a session
// each, one operation at a time; watchers that follow semaphores; worker pools for staged rollouts (instances,
// publishers, sources and checkers) and for members of coordination processes; and operators of both. A program draws
// its operations at random, and reports its requests, answers and beliefs to a Recorder, for the rules of test/history.
//
// The same programs run in virtual time and in real processes (test/simulation, test/chaos). The differences are
// parameters: the client, the Recorder and the Profile.
//
// Start reading at Workers, which runs the programs and watchers of one client process, Program, WorkerPool and
// Operator.
package workload
