// Package rights says who may do what in a cluster: the rules, and what the meta shard keeps of them.
//
// A rule allows some rights below a path, and perhaps only with objects whose names begin with a text. Rules only
// allow: what a client may do is all that some rule of its allows, and nothing takes away from it. A role is a list of
// rules under a name. A principal is who clients are: the owner of a token, of a certificate, or anybody. It is granted
// roles, each below a path.
//
// Start with Book, which is all of it at one moment and never changes, and with Set, which is what one client may do,
// made for being asked at every request.
package rights
