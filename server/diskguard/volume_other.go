//go:build !linux && !darwin

package diskguard

import (
	"errors"
	"fmt"
)

// Space implements Volume: on this operating system it is not known.
func (d Directory) Space() (Space, error) {
	return Space{}, fmt.Errorf("diskguard: free space of %s: %w", d, errors.ErrUnsupported)
}
