// Package health declares the kinds of health issues, and the record by which a host reports an issue. The table Kinds
// has each kind's texts. Hosts, the client, the command line, HTTP, metrics and docs/guides/monitoring.md all read this
// table, so their words agree.
//
// Start with Kinds.
package health
