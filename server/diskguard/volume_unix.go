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
	return Space{Total: uint64(s.Blocks) * block, Free: uint64(s.Bavail) * block,
		InMemory: inMemory(uint32(s.Type))}, nil
}

// inMemory reports whether a file system keeps files only in memory. The argument is the type from statfs.
func inMemory(number uint32) bool {
	const tmpfs, ramfs = 0x01021994, 0x858458f6 // Linux; no other system uses these numbers
	return number == tmpfs || number == ramfs
}
