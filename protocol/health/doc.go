// Package health declares the kinds of trouble that a cluster can be in, and the record by which a host reports a
// trouble. The table Kinds has the texts of each kind. Hosts, the client, the command line, HTTP, metrics and
// docs/guides/monitoring.md all read this table, so their words agree.
//
// Start with Kinds.
package health
