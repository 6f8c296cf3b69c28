// Package simulation runs whole worlds in virtual time: hosts with the real server core on the in-memory log, real
// clients over in-memory connections, programs that use the clients, and faults. A seed determines a world's Plan. Run
// runs a plan in a testing/synctest bubble, and returns a history to be judged by the rules of test/history.
//
// A seed fixes the plan: the cluster, the configs, each program's intended operations, and the start and end of each
// fault. It does not fix goroutine scheduling, nor random choices in client and server (retry pauses, keys). So two
// runs of a seed are similar but not identical; a failure that needs a rare interleaving may take several runs to
// reproduce. The history of a failure is saved with its faults and can be judged again.
//
// docs/testing.md describes coverage and gaps.
package simulation
