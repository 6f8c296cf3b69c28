package engine

import "time"

// SetStandstill changes the maximum real time without a second of virtual time.
func SetStandstill(d time.Duration) { standstill = d }
