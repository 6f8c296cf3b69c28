// Package host has the host types that several packages share: hosts, shards and replicas as operators see them, the
// governor's steps, and the failure domain. Each type lists its fields once (Fields), for the wire, the client, the
// command line, HTTP and the page /cluster. The host records are in shard/hosts.
//
// Start with Host.
//
// Wire and log differ in the failure domain: a text on the wire, labels in the log (Domain.Fields). Records for hosts,
// shards and replicas have separate types and field lists in shard/hosts, because views add the governor's
// observations: reasons are words here and numbers there, ages are durations here and timestamps there.
package host
