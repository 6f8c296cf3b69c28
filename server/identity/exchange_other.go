//go:build !linux

package identity

import "errors"

// exchange gives two files each other's name: on this operating system it cannot.
func exchange(string, string) error { return errors.ErrUnsupported }
