// Package birth makes one cluster of hosts that are all given the same list of hosts, each with a new data directory.
// No host is born twice, and no two clusters have a host in common, whatever is started, killed or wiped in
// between.
//
// # How it goes
//
// Every host has drawn an incarnation, which is in its directory, before it asks the others, again and again, who they
// are. The first host of the list decides.
//
//  1. A host that is asked by the decider promises, durably, to be born with that incarnation of the decider or not at
//     all, and answers with its own incarnation. An incarnation promises once.
//  2. The decider, when all others have answered that they are in no cluster and have promised themselves to it, writes
//     the founders with their incarnations into its directory. From then on it is born, and answers so.
//  3. A host that gets an answer from one that was born, with its own incarnation among the founders, writes the same
//     founders into its directory, and is born. Where its incarnation is not among them, it never will be: Conclude
//     returns a Without.
//  4. A host that has promised itself to an incarnation which the decider does not have any more waits until all others
//     have answered that they are in no cluster. Then it draws another incarnation, and is free to promise again.
//
// A host that finds no other waits. It logs for whom.
//
// # Why there is one cluster
//
// Let a host be a founder of two births. Both deciders have its promise, of one incarnation, which promises once: they
// are one incarnation of one host. That one has decided twice; but it decides only while it is in no cluster, and what
// it decided is in its directory before any other host hears of it. So both births are one.
//
// A host that was wiped has another incarnation. Where a cluster was made meanwhile, some host of it that was not wiped
// says so, for no host is born before all others have answered. Where a majority was wiped, what it had confirmed is
// lost, and no program can know it.
//
// Where to start reading: Candidate in candidate.go decides, Run in run.go asks, message.go is what goes over the wire.
package birth
