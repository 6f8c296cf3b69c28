// Package host has the types of hosts that more than one room knows: hosts, shards and replicas as operators see them,
// what the governor does, and the failure domain. Each type has one listing of its fields (Fields), which the wire, the
// client, the command line, HTTP and the page /cluster share. The records of hosts are in shard/hosts.
//
// Start with Host.
//
// Wire and log differ in the failure domain: a text on the wire, labels in the log (Domain.Fields). Records of hosts,
// shards and replicas have types and listings of their own in shard/hosts, because views add the observations of the
// governor: reasons are words here and numbers there, ages are durations here and moments there.
package host
