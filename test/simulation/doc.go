// Package simulation plays whole worlds in virtual time: hosts with the real server core on the log in memory,
// real clients over connections in memory, programs that use them, and faults. What a world is like is drawn from
// a seed: a Plan. Run plays one, in a bubble of testing/synctest, and returns the history that the rules of
// test/history judge.
//
// A seed fixes the plan: the cluster, the configs, what each program will try and when which fault begins and
// ends. It does not fix the order in which goroutines run, nor what client and server draw by themselves (pauses
// before retries, keys). So two runs of a seed are alike but not the same; a failure that needs a rare order may
// take several to come back. Its history, with the faults that there were, is saved and can be judged again.
//
// docs/testing.md says what is covered and what is not.
package simulation
