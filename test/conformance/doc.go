// Package conformance plays hosts for a client in any language, following scripts, and checks that the client follows
// docs/protocol.md when a host is late, silent, wrong or gone.
//
// The client is wrapped in a driver: a program that reads commands and writes replies and events, as lines of JSON.
// docs/conformance.md describes drivers and scripts.
//
// Start at Run, which plays scripts in parallel, and at play: one script with a driver. A play consists of
//
//   - schema: the messages, as listed in protocol/testdata/schema.json. The package shares no codec with the Go client,
//     so the two cannot share bugs. In a test, the schema alone writes and reads all vectors;
//   - stage: the hosts as sockets, and the client's connections;
//   - model: host answers to requests without an entry in the script;
//   - faults: script entries for requests, in force from a step "on" until used up or withdrawn;
//   - invariants: rules for clients in every script;
//   - driver: the process around the client, with commands, replies and events.
//
// # A request
//
// A goroutine reads frames from a connection. Under the play's lock, the frame is decoded by the schema, checked
// against the invariants, and added to the play's requests. The first matching fault decides: drop, refuse, delay,
// answer nothing, disconnect. Without a fault the model answers. Answers are queued on the connection and written by a
// second goroutine, so that a stopped or slow client delays no step.
//
// # A step
//
// The play's goroutine executes steps in order, under the lock. A waiting step releases the lock, and checks again
// after every request, event, reply, close or broken rule. Steps use up requests and events: a step "comes" takes the
// first unused request, so two steps never find the same request. A mark makes later steps look only at newer requests.
// Counting steps include used requests.
//
// # Time
//
// Scripts are played in real time, because clients have their own clocks. A bound counts from an event seen by the host
// or the player: a request's arrival, a sent command, or a mark. The client's own times are slightly earlier, so lower
// bounds have a tolerance, and upper bounds an allowance for busy machines. Scripts leave half a second or more between
// correct and incorrect clients.
//
// # A failure
//
// The first difference between client and script ends the script. The outcome contains the step, the difference, and
// the play's record: every message, command, reply and close with the seconds since the start, so that a client's
// author can follow the events without a debugger.
//
// # The model
//
// The model keeps sessions, semaphores and answers, without queues and without session expiry. Queueing, expiry and
// other clients' actions are script entries. Sequences are strict: a mutation with a known sequence gets the cached
// answer, as from a real shard, so that a client may repeat freely and a script can check the repetition.
package conformance
