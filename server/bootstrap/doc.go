// Package bootstrap makes one cluster of hosts that are all given one list of hosts, every host with a new data
// directory. No host is bootstrapped twice, and no two clusters have a host in common, whatever is started, killed or
// wiped in between.
//
// # How a bootstrap goes
//
// Every host draws an incarnation into its directory before the host asks the other hosts, again and again, for their
// identities. The first host of the list is the decider.
//
//  1. A host asked by the decider promises, durably, to bootstrap with the decider's incarnation or not at all, and
//     answers with its own incarnation. An incarnation makes a single promise.
//  2. When all other hosts have answered that they are in no cluster and have promised themselves to the decider, the
//     decider writes the initial members with their incarnations into its directory. From then on the decider is
//     bootstrapped, and answers so.
//  3. A host gets an answer from a bootstrapped host. If the answer has the asking host's own incarnation among the
//     initial members, the asking host writes the initial members into its directory, and is bootstrapped. If not, the
//     incarnation never will be bootstrapped: Conclude returns an ExcludedError.
//  4. A host may have promised itself to an incarnation that the decider has lost. The host waits until all other
//     hosts have answered that they are in no cluster. Then the host draws a new incarnation, and is free to promise
//     again.
//
// A host that finds no other host waits, and logs the names of the awaited hosts.
//
// Hosts bootstrap together only with equal settings, equal access rules among them (Plan). With access rules or root
// tokens the cluster is closed, as its bootstrap says: see identity.Bootstrap.
//
// # Why there is one cluster
//
// Let a host be an initial member of two bootstraps. Both deciders have the host's promise, made by one incarnation. An
// incarnation promises once, so the deciders are one incarnation of one host. The decider has decided twice; but a
// host decides only while in no cluster, and the decision is in the decider's directory before other hosts hear of
// it. So both bootstraps are one.
//
// A wiped host has a new incarnation. If a cluster was made meanwhile, an unwiped host of the cluster says so,
// because no host is bootstrapped before all other hosts have answered. If a majority was wiped, the confirmations of
// the majority are lost, and no program can know them.
//
// A host that draws a new incarnation counts as wiped too. If the process of a wiped decider lives on beside its
// successor, and reaches one host alone, another host may do so after the decision was made with its old incarnation.
// There is still one cluster, but one without a majority once the process of the wiped decider ends.
//
// Where to start reading: Initializer in initializer.go decides, Run in run.go asks, message.go has the messages on the
// wire.
package bootstrap
