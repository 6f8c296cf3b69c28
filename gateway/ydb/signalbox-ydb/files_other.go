//go:build !unix

package main

import "math"

// fileLimit returns the process's open file limit.
func fileLimit() int { return math.MaxInt32 }
