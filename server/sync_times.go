package server

import "time"

// SyncTimes counts how long the log's syncs to the disk take, for the metrics of the host that is given them. It
// may be used before there is a host, and by many goroutines.
type SyncTimes struct {
	times histogram
}

// NewSyncTimes returns SyncTimes that have counted nothing.
func NewSyncTimes() *SyncTimes {
	return &SyncTimes{times: histogram{name: "signalbox_log_sync_seconds"}}
}

// Observe counts one.
func (s *SyncTimes) Observe(d time.Duration) { s.times.observe(int64(d)) }
