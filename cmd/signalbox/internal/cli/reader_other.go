//go:build !linux

package cli

import "io"

// awaitReaderGone returns false: here the end of the reader cannot be awaited, and the next write finds out.
func awaitReaderGone(io.Writer) bool { return false }
