// Package access reads a host's two optional files with access rules. Both files have the same format: roles and
// principals, with tokens as SHA-256 hashes.
//
// The access rules file (ReadFirstRules) is imported by a cluster without rules.
//
// The root token file (Open) contains only tokens with the role root on /. Root tokens may do everything on the local
// host, whatever access rules the cluster stores. They are for emergencies. The host rereads the file after every
// change: a removed token is refused immediately, on open connections too. While the file is broken or missing, the
// last valid content applies.
package access
