// Package conformance plays hosts to a client of any language, by scripts, and finds out whether the client keeps to
// docs/protocol.md when a host is late, silent, wrong or gone.
//
// The client is wrapped in a driver: a program that reads commands and writes replies and events, as lines of JSON.
// docs/conformance.md describes the driver and the scripts.
//
// Start at Run, which plays scripts in parallel, and at play: one script with a driver. A play stands on
//
//   - schema: the messages, as protocol/testdata/schema.json lists them. The package shares no codec with the Go
//     client, so that the two do not share mistakes. A test has the schema alone write and read all vectors;
//   - stage: the hosts as sockets, and the connections of the client;
//   - model: answers of hosts to requests without an entry in the script;
//   - faults: entries of the script for requests, in force from a step "on" until used up or taken back;
//   - invariants: rules for clients in every script;
//   - driver: the process around the client, with commands, replies and events.
//
// # A request
//
// A goroutine reads frames from a connection. Under the lock of the play the frame is decoded by the schema, held to
// the invariants, and added to the requests of the play. The first fault for the request decides: drop, refuse, delay,
// answer in silence, cut. Without a fault the model answers. Answers are queued on the connection and written by a
// second goroutine, so that a stopped or slow client holds up no step.
//
// # A step
//
// Steps are carried out in order by the goroutine of the play, under the lock. A waiting step gives the lock up, and
// looks again after every request, event, reply, close or broken rule. Requests and events are used up by steps: a step
// "comes" takes the first unused request, so that two steps never find one request. A mark makes later steps look at
// newer requests only. Counting steps look at used requests too.
//
// # Time
//
// Scripts are played in real time, because clients have clocks of their own. A bound counts from a moment seen by the
// host or the player: the arrival of a request, the sending of a command, or a mark. The client's own moments lie a
// little before, so lower bounds have a tolerance, and upper bounds an allowance for busy machines. Between a right
// client and a wrong client scripts leave half a second or more.
//
// # A failure
//
// The first difference between client and script ends the script. The outcome has the step, the difference, and the
// record of the play: every message, command, reply and close with the seconds since the beginning, so that the writer
// of a client reads the course of events without a debugger.
//
// # The model
//
// The model keeps sessions, semaphores and answers, without queues and without the end of sessions by time. Waiting in
// a queue, expiry and the actions of further clients are entries of scripts. Sequences are taken seriously: a mutation
// under a known sequence gets the kept answer, as from a real shard, so that a client may repeat at will and a script
// sees whether the repetition was right.
package conformance
