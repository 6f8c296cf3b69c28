// Package admin serves a host's state to its operators over HTTP:
//
//	/health/live     200 while the process answers; also at /livez
//	/health/ready    200 when the host serves, else 503 and the reason; ?verbose for every check; also at /readyz
//	/metrics         host metrics in the Prometheus text format
//	/status          state of the host and its shards, as JSON
//	/debug/pprof/    the Go profiler, if enabled
//
// Health pages are served regardless of load on the other pages. Every request must be addressed to an IP address,
// localhost, or a configured host name. This check stops web pages in a browser from reading the host's pages through
// a forged DNS name.
//
// The package does not authenticate clients, so the host must listen where only operators can connect. No page
// changes the host.
package admin
