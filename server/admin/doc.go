// Package admin serves the state of a host to its operators, over HTTP:
//
//	/health/live     200 while the process answers
//	/health/ready    200 when the host serves everything, else 503 and the reason; ?verbose for every check
//	/metrics         what the host counts, in the text form that Prometheus reads
//	/status          the state of the host and of its shards, as JSON
//	/debug/pprof/    the Go profiler, where that is wanted
//
// Health is served whatever the rest does. A request must be for an address, localhost or a name that the host knows to
// be its own, so that a page in a browser cannot read the rest through a name of its making.
//
// It does not authenticate its clients, so it listens where only operators can reach it. Nothing here changes the host.
package admin
