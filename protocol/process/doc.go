// Package process has the coordination process types that several packages share: enums and their words, limits, what
// operators and members send, and what readers see. Each type lists its fields once (Fields), for the wire, the shard's
// log, the client, the command line and HTTP. A process's rules and state are in shard/process.
//
// Start with Spec.
//
// Two field lists depend on the form, because the log originally had a different order: a Spec has its OnTimeout last
// in the log, and an Arrival has a spec there only if the session may create the process. Round messages (PROCESS_SEND
// and the other member messages, INBOX) have separate field lists in package protocol, because they are on the hot
// path; their enums have their words here.
package process
