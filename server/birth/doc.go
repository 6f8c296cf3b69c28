// Package birth makes one cluster of hosts that are all given one list of hosts, every host with a new data
// directory. No host is born twice, and no two clusters have a host in common, whatever is started, killed or wiped
// in between.
//
// # How a birth goes
//
// Every host draws an incarnation into its directory before the host asks the other hosts, again and again, for their
// identities. The first host of the list is the decider.
//
//  1. A host asked by the decider promises, durably, to be born with the decider's incarnation or not at all, and
//     answers with its own incarnation. An incarnation makes a single promise.
//  2. When all other hosts have answered that they are in no cluster and have promised themselves to the decider, the
//     decider writes the founders with their incarnations into its directory. From then on the decider is born, and
//     answers so.
//  3. A host gets an answer from a born host. If the answer has the asking host's own incarnation among the founders,
//     the asking host writes the founders into its directory, and is born. If not, the incarnation never will be
//     born: Conclude returns a Without.
//  4. A host may have promised itself to an incarnation that the decider has lost. The host waits until all other
//     hosts have answered that they are in no cluster. Then the host draws a new incarnation, and is free to promise
//     again.
//
// A host that finds no other host waits, and logs the names of the awaited hosts.
//
// # Why there is one cluster
//
// Let a host be a founder of two births. Both deciders have the host's promise, made by one incarnation. An
// incarnation promises once, so the deciders are one incarnation of one host. The decider has decided twice; but a
// host decides only while in no cluster, and the decision is in the decider's directory before other hosts hear of
// it. So both births are one.
//
// A wiped host has a new incarnation. If a cluster was made meanwhile, an unwiped host of the cluster says so,
// because no host is born before all other hosts have answered. If a majority was wiped, the confirmations of the
// majority are lost, and no program can know them.
//
// Where to start reading: Candidate in candidate.go decides, Run in run.go asks, message.go has the messages on the
// wire.
package birth
