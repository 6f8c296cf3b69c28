// Package bootstrap creates one cluster from hosts with the same host list and new data directories. No host is
// bootstrapped twice, and no two clusters share a host, whatever is started, killed or wiped meanwhile.
//
// # How a bootstrap works
//
// Every host draws an incarnation into its directory first. Then the host repeatedly asks the other hosts for their
// identities. The first host in the list is the decider.
//
//  1. When the decider asks a host, the host durably promises to bootstrap with the decider's incarnation or not at
//     all, and answers with its own incarnation. Each incarnation makes only one promise.
//  2. When all other hosts have answered that they are in no cluster and have promised themselves to the decider, the
//     decider writes the initial members with their incarnations into its directory. From then on the decider is
//     bootstrapped, and says so in its answers.
//  3. A host receives an answer from a bootstrapped host. If the answer lists the receiver's incarnation among the
//     initial members, the receiver writes the initial members into its directory, and is bootstrapped. Otherwise
//     the receiver's incarnation can never be bootstrapped: Conclude returns an ExcludedError.
//  4. A host may have promised itself to an incarnation that the decider has lost. The host waits until all other
//     hosts have answered that they are in no cluster. Then the host draws a new incarnation, and is free to promise
//     again.
//
// A host that finds no other host waits, and logs the names of the awaited hosts.
//
// Hosts bootstrap together only if their settings are equal, including access rules (Plan). If access rules or root
// tokens are configured, the cluster is closed, and its bootstrap record says so: see identity.Bootstrap.
//
// # Why only one cluster results
//
// Suppose a host is an initial member in two bootstraps. Both deciders have the host's promise, made by one
// incarnation. An incarnation promises once, so both deciders are the same incarnation on the same host. That decider
// would have decided twice. But a host decides only while in no cluster, and stores the decision in its directory
// before other hosts learn about it. So both bootstraps are the same.
//
// A wiped host has a new incarnation. If a cluster was created meanwhile, an unwiped member reports the cluster,
// because no host is bootstrapped before all other hosts have answered. If a majority was wiped, the majority's
// confirmations are lost, and no program can recover them.
//
// A host that draws a new incarnation counts as wiped too. Suppose the process of a wiped decider keeps running
// beside its successor and reaches one host alone; another host may reach that process after the decision was made
// with its old incarnation. There is still only one cluster, but the cluster loses its majority when the wiped
// decider's process ends.
//
// Where to start reading: Initializer in initializer.go decides, Run in run.go asks, message.go defines the wire
// messages.
package bootstrap
