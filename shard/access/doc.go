// Package access is access control: rules, roles and grants, and their record in the meta shard.
//
// A rule allows some rights below a path, and perhaps only on objects whose names begin with a text. Rules only
// allow: a client may do everything that some rule of its principals allows, and nothing takes rights away. A role is
// a list of rules under a name. A principal is an identity of clients: the owner of a token, the owner of a
// certificate, or every client, known or not. A principal is granted roles, each below a path.
//
// Start with Book, the whole record at one moment, which never changes, and with Set, the rights of one client, made
// for a question at every request.
package access
