//go:build !linux && !darwin

package diskguard

import (
	"errors"
	"fmt"
)

// Space implements Volume: the free space is unknown on this operating system.
func (d Directory) Space() (Space, error) {
	return Space{}, fmt.Errorf("diskguard: free space of %s: %w", d, errors.ErrUnsupported)
}
