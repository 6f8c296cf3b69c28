// Package join makes a host with a new data directory one of the hosts of a cluster that is there.
//
// # How it goes
//
//  1. The newcomer has drawn an incarnation, which is in its directory, before it asks any host of the cluster for
//     admission, again and again, over a connection on which it is unnamed (Runner).
//  2. A host that does not lead the meta shard answers with the address of the one that does. That one checks that the
//     newcomer may join, and proposes it to the meta shard (Desk). Whether it fits is for the records to say.
//  3. The answer is a Grant: the newcomer's id, what was fixed at the birth of the cluster, and where its hosts are.
//     The newcomer writes it into its directory, and belongs to the cluster from then on. Replicas are given to it
//     later, by the governor.
//
// A join that was asked for before, by the same incarnation, has the same answer. So whenever the newcomer or the
// leader dies, the newcomer asks again, or finds in its directory that it need not.
//
// # Who may join
//
// Where hosts use TLS, a newcomer shows a certificate of their authority that has its name. Otherwise it proves that it
// has a join token (Token), or the secret of the cluster, with which it could write to the log anyway. Where hosts have
// neither certificates nor a secret, who reaches them may join, as who reaches them may do everything.
//
// A proof is made under a key that follows from the token or the secret and from what both sides have drawn at random
// for the connection, over all that the newcomer says of itself. The grant is sealed under another such key: so the
// newcomer knows that it comes from a host which has the token, and the secret of the cluster can travel in it. A token
// is good for one incarnation.
//
// Where to start reading: Desk in desk.go answers, Runner in runner.go asks, proof.go has the keys.
package join
