//go:build !linux

package identity

import "errors"

// exchange swaps the names of two files; this operating system cannot do so.
func exchange(string, string) error { return errors.ErrUnsupported }
