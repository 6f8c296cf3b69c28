// Package access implements access control (RBAC): rules, roles and grants, and their record in the meta shard.
//
// A rule allows some rights below a path, optionally only on objects with a name prefix. Rules only allow: a client may
// do everything that any rule for its principals allows, and no rule takes rights away. A role is a named list of
// rules. A principal is a client identity: a token's owner, a certificate's owner, or every client, known or not. A
// principal is granted roles, each below a path.
//
// Start with Book, the whole record at one point in time, which never changes, and with Set, one client's rights, built
// for checking every request.
package access
