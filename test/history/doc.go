// Package history records a test with many clients, hosts and faults: client requests and answers, client beliefs about
// ownership, watcher views, faults and the final state. Rules check the record afterwards. They use only what clients
// can see, so the same rules check a simulation and real processes.
//
// All clients share one clock. Times count from the start of the recording, and no two times are equal. Recorded
// intervals start early and end late, so a rule violation is never an artifact of the recording.
//
// Start reading at Recorder, which collects the record, and Rules, which lists the rules.
package history
