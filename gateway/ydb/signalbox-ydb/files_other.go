//go:build !unix

package main

import "math"

// fileLimit is the limit of open files of the process.
func fileLimit() int { return math.MaxInt32 }
