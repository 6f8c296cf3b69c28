//go:build linux

package wire

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// socketOwner returns the process whose socket is bound to port local and connected to port remote, both on 127.0.0.1.
// ok is false without such a process. All hosts share one peer address each, so only the socket owner shows the
// connecting host.
func socketOwner(local, remote int, pids []int) (index int, ok bool) {
	inode := inodeOf(local, remote)
	if inode == "" {
		return 0, false
	}
	want := "socket:[" + inode + "]"
	for i, pid := range pids {
		if pid == 0 {
			continue
		}
		files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
		for _, f := range files {
			if name, err := os.Readlink(f); err == nil && name == want {
				return i, true
			}
		}
	}
	return 0, false
}

// inodeOf finds the inode of a connection between two ports on 127.0.0.1, empty if there is none.
func inodeOf(local, remote int) string {
	f, err := os.Open("/proc/net/tcp")
	if err != nil {
		return ""
	}
	defer f.Close()
	here, other := fmt.Sprintf("0100007F:%04X", local), fmt.Sprintf("0100007F:%04X", remote)
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if fields := strings.Fields(lines.Text()); len(fields) > 9 && fields[1] == here && fields[2] == other {
			return fields[9]
		}
	}
	return ""
}
