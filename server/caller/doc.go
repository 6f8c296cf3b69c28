// Package caller knows who the client of a connection is, and what the client may do.
//
// Gate.Enter makes a Caller from the token and the certificate of a client: from the host's own Access, or from the
// rights that the cluster keeps. A Caller answers whether the client may send a request about an object, and says what
// the client lacks. The gate also remembers refusals for operators, and slows down clients that guess session keys.
package caller
