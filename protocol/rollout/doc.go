// Package rollout has the staged rollout types that several packages share: enums and their words, limits, what clients
// and operators send, and what readers see. Each type lists its fields once (Fields), for the wire, the shard's log,
// the client, the command line and HTTP. A rollout's rules and state are in shard/rollout.
//
// Start with Spec for requests, and with State for what readers see.
//
// Three field lists depend on the form, because the log originally had a different order: a spec has its locations last
// in the log; a Publication and an Offering have their payload beside the log form, in the command. Two more types have
// separate log encodings in shard/rollout, because state is compact: a history row and an instance. Reports and targets
// have a second field list in package protocol, because instances send and receive many of them.
package rollout
