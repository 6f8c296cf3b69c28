package freeing

import (
	"os"

	"golang.org/x/sys/unix"
)

// ownedAlone reports whether a file has no name, and is open nowhere else: no process can have a lease for writing on
// a file that another one has open.
func ownedAlone(file *os.File) bool {
	fd := file.Fd()
	var status unix.Stat_t
	if unix.Fstat(int(fd), &status) != nil || status.Nlink > 0 {
		return false
	}
	_, err := unix.FcntlInt(fd, unix.F_SETLEASE, unix.F_WRLCK)
	return err == nil
}
