//go:build !linux

package lifecycle

import "time"

// suspension returns 0 because the system has no clock known to advance while the machine is suspended.
func suspension() time.Duration { return 0 }
