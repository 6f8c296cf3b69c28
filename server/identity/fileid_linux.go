package identity

import (
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// lasting are the file systems, by their numbers in statfs, in which a file keeps its inode for as long as the file
// exists, on all machines that mount the file system. The rest of the file systems make inodes up when they are
// mounted, or pass on inodes of several file systems, or of a server, which may be a different server tomorrow.
var lasting = map[int64]string{
	unix.EXT4_SUPER_MAGIC:  "ext4",
	unix.XFS_SUPER_MAGIC:   "xfs",
	unix.BTRFS_SUPER_MAGIC: "btrfs",
	unix.F2FS_SUPER_MAGIC:  "f2fs",
	unix.TMPFS_MAGIC:       "tmpfs",
	0x2fc12fc1:             "zfs",
	0xca451a4e:             "bcachefs",
}

// identifyFile returns the id of an open file, a zero id if the file system has no lasting ids.
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
		return id, nil // the kernel, or its sandbox, has no such call
	}
	id = fileID{FileSystem: name, Inode: found.Ino}
	if found.Mask&unix.STATX_BTIME != 0 {
		id.Created = time.Unix(found.Btime.Sec, int64(found.Btime.Nsec)).UnixNano()
	}
	return id, nil
}
