package identity

import (
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// lasting are the file systems, by the number that statfs has for each, in which a file keeps its inode for its whole
// life, on any machine that mounts the file system. Others make inodes up when they are mounted, or pass on inodes of
// several file systems, or of a server, which may be another one tomorrow.
var lasting = map[int64]string{
	unix.EXT4_SUPER_MAGIC:  "ext4",
	unix.XFS_SUPER_MAGIC:   "xfs",
	unix.BTRFS_SUPER_MAGIC: "btrfs",
	unix.F2FS_SUPER_MAGIC:  "f2fs",
	unix.TMPFS_MAGIC:       "tmpfs",
	0x2fc12fc1:             "zfs",
	0xca451a4e:             "bcachefs",
}

// identifyFile returns the id of a file that is open, a zero one where the file system has none that lasts.
func identifyFile(file *os.File) (id fileID, err error) {
	var system unix.Statfs_t
	if err := unix.Fstatfs(int(file.Fd()), &system); err != nil {
		return id, fmt.Errorf("look on which file system %s is: %w", file.Name(), err)
	}
	name := lasting[int64(system.Type)] //nolint:unconvert // it has 32 bits on some machines
	if name == "" {
		return id, nil
	}
	var found unix.Statx_t
	err = unix.Statx(int(file.Fd()), "", unix.AT_EMPTY_PATH, unix.STATX_INO|unix.STATX_BTIME, &found)
	if err != nil || found.Mask&unix.STATX_INO == 0 {
		return id, nil // the kernel, or what it is confined by, has no such call
	}
	id = fileID{FileSystem: name, Inode: found.Ino}
	if found.Mask&unix.STATX_BTIME != 0 {
		id.Born = time.Unix(found.Btime.Sec, int64(found.Btime.Nsec)).UnixNano()
	}
	return id, nil
}
