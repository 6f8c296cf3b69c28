//go:build linux || darwin

package diskguard

import (
	"fmt"
	"syscall"
)

// Space implements Volume.
func (d Directory) Space() (Space, error) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(string(d), &s); err != nil {
		return Space{}, fmt.Errorf("diskguard: free space of %s: %w", d, err)
	}
	block := uint64(s.Bsize)
	return Space{Total: uint64(s.Blocks) * block, Free: uint64(s.Bavail) * block}, nil
}
