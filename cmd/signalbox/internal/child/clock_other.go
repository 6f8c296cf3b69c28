//go:build unix && !linux

package child

import "time"

// sinceBoot returns otherwise, because no known clock here continues while the machine sleeps.
func sinceBoot(otherwise time.Duration) time.Duration { return otherwise }
