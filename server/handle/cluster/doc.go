// Package cluster has the handlers of operators' requests about hosts and shards, and about the answering host.
//
// An order, such as draining a host, becomes a command of the meta shard. The leader of the meta shard proposes the
// command, and the governor brings about the new state. A question is answered from the records of the hosts, behind a
// barrier, or by the governor. Questions look at everything, so few are answered at once, beside the event loops.
//
// The right to an order is a right on /, because hosts belong to no node; a question needs a right in at least one
// node. A health issue of an object is shown only to clients that may see the object. A host without records of the
// hosts answers UNAVAILABLE: the records come by themselves, and the client asks again.
//
// The recovery of a shard asks all hosts first. The reason against a recovery is a part of the command, so that a
// repeated order gets the answer of the first.
//
// Join tokens are made by the client: the meta shard keeps the hash of the secret only. A token is refused while no
// host has an address for peers, because no new host could use the token.
package cluster
