//go:build !linux

package identity

import "errors"

// exchange swaps two file names; this operating system does not support it.
func exchange(string, string) error { return errors.ErrUnsupported }
