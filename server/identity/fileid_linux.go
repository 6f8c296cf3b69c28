package identity

import (
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// lasting contains the file systems, by statfs number, in which a file keeps its inode as long as the file exists, on
// all machines that mount the file system. Other file systems invent inodes at mount time, or pass on inodes from
// several file systems or from a server, which may be a different server tomorrow.
var lasting = map[int64]string{
	unix.EXT4_SUPER_MAGIC:  "ext4",
	unix.XFS_SUPER_MAGIC:   "xfs",
	unix.BTRFS_SUPER_MAGIC: "btrfs",
	unix.F2FS_SUPER_MAGIC:  "f2fs",
	unix.TMPFS_MAGIC:       "tmpfs",
	0x2fc12fc1:             "zfs",
	0xca451a4e:             "bcachefs",
}

// identifyFile returns an open file's id, or a zero id if the file system has no stable ids.
func identifyFile(file *os.File) (id fileID, err error) {
	var system unix.Statfs_t
	if err := unix.Fstatfs(int(file.Fd()), &system); err != nil {
		return id, fmt.Errorf("cannot get the file system of %s: %w", file.Name(), err)
	}
	name := lasting[int64(system.Type)] //nolint:unconvert // 32 bits on some machines
	if name == "" {
		return id, nil
	}
	var found unix.Statx_t
	err = unix.Statx(int(file.Fd()), "", unix.AT_EMPTY_PATH, unix.STATX_INO|unix.STATX_BTIME, &found)
	if err != nil || found.Mask&unix.STATX_INO == 0 {
		return id, nil // the kernel, or its sandbox, does not support the call
	}
	id = fileID{FileSystem: name, Inode: found.Ino}
	if found.Mask&unix.STATX_BTIME != 0 {
		id.Created = time.Unix(found.Btime.Sec, int64(found.Btime.Nsec)).UnixNano()
	}
	return id, nil
}
