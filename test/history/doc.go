// Package history is the memory of a test that many clients, hosts and faults take part in: what every client
// asked for and was told, when it believed to hold what, what watchers saw, which faults there were and how
// everything stood in the end. Rules are checked on it afterwards, by nothing but what clients can see, so that
// the same rules judge a simulation and real processes. See Rules for what they are.
//
// Times are those of one clock that all who record share: moments since the recording began, no two of them the
// same. A thing is recorded as having begun before it did, and as having ended after it did, so that every rule
// that finds something wrong is right about it.
package history
