// Package admin serves the state of a host to its operators, over HTTP:
//
//	/health/live     200 while the process answers; also at /livez
//	/health/ready    200 when the host serves, else 503 and the reason; ?verbose for every check; also at /readyz
//	/metrics         the metrics of the host, in the text form of Prometheus
//	/status          the state of the host and of its shards, as JSON
//	/debug/pprof/    the Go profiler, if enabled
//
// Health is served whatever the other pages do. A request must be for an address, for localhost, or for a name known
// to be the host's own. So a page in a browser cannot read the pages of the host through an invented name.
//
// The package does not authenticate its clients, so the host listens where only operators can connect. No page
// changes the host.
package admin
