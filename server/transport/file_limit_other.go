//go:build !linux && !darwin

package transport

// RaiseFileLimit does nothing on this operating system, and returns a safe number.
func RaiseFileLimit() (int, error) {
	return assumedFileLimit, nil
}

func fileLimit() int {
	return assumedFileLimit
}
