package engine

import "time"

// SetStandstill changes how much real time may pass without a second of virtual time.
func SetStandstill(d time.Duration) { standstill = d }
