// Package caller identifies the client behind a connection and decides what the client may do.
//
// Gate.Enter creates a Caller from a client's token and certificate. The rights come from the host's own Access, or
// from the cluster's access rules. A Caller answers whether the client may send a request for an object, and names
// the missing right. The gate also remembers refusals for operators, and throttles clients that guess session keys.
package caller
