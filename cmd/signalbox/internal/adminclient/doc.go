// Package adminclient reads the admin pages of hosts: their status, and their metrics in the text form of Prometheus.
//
// Read is the door. The pages of a host name the rest of the hosts, so an address of a single host is enough. Metrics
// are counters since the start of a host; a reader compares two readings, by Since, to learn the work of a host in
// between. The room serve parses the metrics of its own host by Parse, without a request.
package adminclient
