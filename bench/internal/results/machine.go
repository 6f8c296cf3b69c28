package results

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Machine describes the test machine.
type Machine struct {
	CPU         string `json:"cpu"`
	Cores       int    `json:"cores"`
	MemoryBytes uint64 `json:"memory_bytes"`
	Kernel      string `json:"kernel"`
	// Filesystem is the filesystem under the servers' data directory.
	Filesystem string `json:"filesystem"`
	Go         string `json:"go"`
}

// ThisMachine describes this machine; unknown fields are empty.
func ThisMachine(dataDir string) Machine {
	m := Machine{Cores: runtime.NumCPU(), Go: runtime.Version(), Filesystem: filesystem(dataDir)}
	m.CPU = field("/proc/cpuinfo", "model name")
	if kb, err := strconv.ParseUint(strings.TrimSuffix(field("/proc/meminfo", "MemTotal"), " kB"), 10, 64); err == nil {
		m.MemoryBytes = kb << 10
	}
	var name unix.Utsname
	if unix.Uname(&name) == nil {
		m.Kernel = fmt.Sprintf("%s %s", unix.ByteSliceToString(name.Sysname[:]),
			unix.ByteSliceToString(name.Release[:]))
	}
	return m
}

// field returns the text after the first occurrence of name and a colon.
func field(file, name string) string {
	f, err := os.Open(file)
	if err != nil {
		return ""
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		key, value, found := strings.Cut(lines.Text(), ":")
		if found && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// filesystems maps magic numbers to likely filesystems for a data directory.
var filesystems = map[int64]string{
	unix.EXT4_SUPER_MAGIC: "ext4", unix.XFS_SUPER_MAGIC: "xfs", unix.BTRFS_SUPER_MAGIC: "btrfs",
	unix.TMPFS_MAGIC: "tmpfs", unix.OVERLAYFS_SUPER_MAGIC: "overlayfs", unix.F2FS_SUPER_MAGIC: "f2fs",
}

func filesystem(dir string) string {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return ""
	}
	if name, known := filesystems[int64(s.Type)]; known {
		return name
	}
	return fmt.Sprintf("%#x", s.Type)
}

// SyncsNothing reports whether the filesystem keeps files in memory, where a sync is free and a race is meaningless.
func (m Machine) SyncsNothing() bool { return m.Filesystem == "tmpfs" }
