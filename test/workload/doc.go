// Package workload is what clients do in a test of many faults: programs that use semaphores in a session each,
// one thing after the other, and watchers that follow semaphores. A program rolls dice for what it does next, and
// hands everything that it asks for, is told and believes to a Recorder, so that the rules of test/history can
// judge it.
//
// The same programs work in virtual time and in real processes (test/simulation, test/chaos). What differs is
// given to them: the client, the Recorder, and their Habits.
package workload
