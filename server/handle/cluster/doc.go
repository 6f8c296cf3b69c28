// Package cluster implements the handlers for operator requests about hosts and shards, and about the answering host.
//
// An order, such as draining a host, becomes a meta shard command. The meta shard leader proposes the command, and
// the governor brings about the new state. A question is answered from the host records after a barrier, or by the
// governor. Questions read all records, so few are answered concurrently, outside the event loops.
//
// An order requires a right on /, because hosts belong to no node; a question requires a right in at least one node.
// A health issue about an object is shown only to clients that may see the object. A host without host records
// answers UNAVAILABLE: the records arrive without intervention, and the client retries.
//
// A shard recovery asks all hosts first. Any objection is stored in the command, so that a repeated order gets the
// same answer as the first.
//
// Join tokens are created by the client: the meta shard stores only the hash of the secret. A token is refused while
// no host has a peer address, because no new host could use the token.
package cluster
