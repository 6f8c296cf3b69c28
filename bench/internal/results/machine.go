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

// Machine is what everything ran on.
type Machine struct {
	CPU         string `json:"cpu"`
	Cores       int    `json:"cores"`
	MemoryBytes uint64 `json:"memory_bytes"`
	Kernel      string `json:"kernel"`
	// Filesystem is that of the directory with the data of all servers.
	Filesystem string `json:"filesystem"`
	Go         string `json:"go"`
}

// ThisMachine describes this machine; what it cannot find out is left empty.
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

// field returns what follows a name and a colon, the first time.
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

// filesystems by their magic number, those that a data directory is likely to be on.
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

// SyncsNothing reports whether the filesystem keeps files in memory, where a sync costs nothing and a race says
// nothing.
func (m Machine) SyncsNothing() bool { return m.Filesystem == "tmpfs" }
