// Package rollout has the types of staged rollouts that more than one room knows: the words, the limits, what clients
// and operators say, and what readers see. Each type has one listing of its fields (Fields), which the wire, the log of
// a shard, the client, the command line and HTTP share. Rules and state of a rollout are in shard/rollout.
//
// Start with Spec for what is said, and with State for what readers see.
//
// Three listings follow the form, because the log had another order first: a spec has its locations last in the log; a
// Publication and an Offering have their payload beside the log form, in the command. Two more types stand in the log
// with a listing of their own in shard/rollout, because state is compact: the row of a history and an instance. Reports
// and targets have a second listing in package protocol, because instances send and get many of them.
package rollout
