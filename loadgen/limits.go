package loadgen

import "time"

// What a run does where its Config does not say otherwise, and what bounds it.
const (
	// DefaultDuration is how long is measured.
	DefaultDuration = 10 * time.Second
	// DefaultCallers is how many callers there are.
	DefaultCallers = 64
	// DefaultPayload is the size of data that a workload writes.
	DefaultPayload = 32
	// DefaultSessionTimeout is long enough that a machine that is worked to its limits loses no session.
	DefaultSessionTimeout = 30 * time.Second

	// dialTime bounds the making of a connection; a host may have thousands to welcome.
	dialTime = 15 * time.Second
	// opening is how many connections, sessions or watches are opened at the same time.
	opening = 64
	// patience is how long anything may take that must come some time: the last operations of a run, the
	// last view of a watch, a host that starts.
	patience = 60 * time.Second
	// lateStarts is how long after the end of an open loop operations that were due before it are begun.
	lateStarts = 2 * time.Second
	// cleaning bounds what is tidied up after a run.
	cleaning = 30 * time.Second
	// maxRecorders bounds the memory for histograms; more callers share them.
	maxRecorders = 256
	// points is about how many points a chart over time has.
	points = 60
	// minMark is the least payload: it has to hold a number.
	minMark = 8
	// maxViolations bounds how many broken promises are told in full.
	maxViolations = 10
)
