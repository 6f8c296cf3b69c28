// Package join lets a host with a new data directory join an existing cluster.
//
// # How a join works
//
//  1. The newcomer draws an incarnation into its directory. Then the newcomer repeatedly asks hosts in the cluster for
//     admission, over a connection on which the newcomer is unnamed (Runner).
//  2. A host that does not lead the meta shard answers with the leader's address. The leader checks that the newcomer
//     may join, and proposes the newcomer to the meta shard (Server). The records decide whether the newcomer fits.
//  3. The answer is a Grant: the newcomer's id, the facts fixed at the cluster's bootstrap, and the addresses of
//     its hosts. The newcomer writes the grant into its directory, and is in the cluster from then on. The
//     governor gives the newcomer replicas later.
//
// A repeated join with the same incarnation gets the earlier answer. So if the newcomer or the leader fails at any
// time, the newcomer asks again, or finds in its directory the join is complete.
//
// # Who may join
//
// If hosts use TLS, a newcomer presents a certificate from their authority, with the newcomer's name. Without TLS, a
// newcomer proves possession of a join token (Token) or the cluster secret; a holder of the secret could write to the
// log anyway. If hosts have neither certificates nor a secret, anyone who can reach them may join, because anyone who
// can reach them may do everything.
//
// A proof is made with a key derived from the token or the secret and from random bytes both sides draw for the
// connection; the proof covers all of the newcomer's statements. The grant is sealed with a second derived key. So
// the newcomer knows that the grant comes from a host with the token, and the grant can contain the cluster secret. A
// token is valid for a single incarnation.
//
// Where to start reading: Server in server.go answers, Runner in runner.go asks, proof.go has the keys.
package join
