// Package adminclient reads hosts' admin pages: their status, and their metrics in the Prometheus text format.
//
// Start at Read. A host's pages name all other hosts, so one host's address is enough. Metrics are counters since
// host start; a reader compares two readings with Since to learn a host's work in between. Package serve parses its
// own host's metrics with Parse, without a request.
package adminclient
