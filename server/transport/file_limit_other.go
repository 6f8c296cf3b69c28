//go:build !linux && !darwin

package transport

// RaiseFileLimit has nothing to raise on this operating system; it returns a number that is safe.
func RaiseFileLimit() (int, error) {
	return assumedFileLimit, nil
}

func fileLimit() int {
	return assumedFileLimit
}
