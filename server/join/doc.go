// Package join lets a host with a new data directory join an existing cluster.
//
// # How a join goes
//
//  1. The newcomer draws an incarnation into its directory. Then the newcomer asks hosts of the cluster for
//     admission, again and again, over a connection on which the newcomer is unnamed (Runner).
//  2. A host that does not lead the meta shard answers with the leader's address. The leader checks that the newcomer
//     may join, and proposes the newcomer to the meta shard (Server). The records decide whether the newcomer fits.
//  3. The answer is a Grant: the newcomer's id, the facts fixed at the bootstrap of the cluster, and the addresses of
//     its hosts. The newcomer writes the grant into its directory, and belongs to the cluster from then on. The
//     governor gives the newcomer replicas later.
//
// A repeated join of one incarnation gets the earlier answer. So whenever the newcomer or the leader dies, the
// newcomer asks again, or finds in its directory that the join is done.
//
// # Who may join
//
// If hosts use TLS, a newcomer shows a certificate of their authority, with the newcomer's name. Without TLS a
// newcomer proves possession of a join token (Token), or of the secret of the cluster; a holder of the secret could
// write to the log anyway. If hosts have neither certificates nor a secret, everything that reaches them may join,
// because everything that reaches them may do everything.
//
// A proof is made under a key derived from the token or the secret and from random bytes drawn by both sides for the
// connection; the proof covers all statements of the newcomer. The grant is sealed under a second derived key: so the
// newcomer knows that the grant comes from a host with the token, and the grant can contain the secret of the
// cluster. A token is good for a single incarnation.
//
// Where to start reading: Server in server.go answers, Runner in runner.go asks, proof.go has the keys.
package join
