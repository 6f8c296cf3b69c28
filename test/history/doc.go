// Package history records a test with many clients, hosts and faults: what every client asked for and was answered,
// when it believed that it holds what, what watchers saw, which faults there were and the final state. Rules are
// checked on the record afterwards, by nothing but what clients can see, so that the same rules check a simulation and
// real processes.
//
// Times are those of one clock that all clients share: moments since the recording began, no two of them the same. A
// thing is recorded as having begun before it did, and as having ended after it did, so that a rule that finds
// something wrong is right.
//
// Start reading at Recorder, which collects the record, and Rules, which lists the rules.
package history
