// Package process has the types of coordination processes that more than one room knows: the words, the limits, what
// operators and members say, and what readers see. Each type has one listing of its fields (Fields), which the wire,
// the log of a shard, the client, the command line and HTTP share. Rules and state of a process are in shard/process.
//
// Start with Spec.
//
// Two listings follow the form, because the log had another order first: a Spec has its OnTimeout last in the log, and
// an Arrival has a spec there only if the session may make the process. The messages of a round (PROCESS_SEND and the
// other messages of members, INBOX) have listings of their own in package protocol, because rounds are made of them;
// their enums have their words here.
package process
