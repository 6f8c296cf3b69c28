// Package access reads the two files with access rules that a host may have. Both have one form: roles and principals,
// and tokens as SHA-256 hashes.
//
// The file of access rules (ReadFirstRules) is imported by a cluster without rules.
//
// The file of root tokens (Open) has only tokens with the role root on /. They may do everything on this host, whatever
// rules the cluster keeps. It is for emergencies. The host reads it again after a change: a removed token is refused
// from then on, on open connections too. While the file is broken, or missing, the last good content counts.
package access
