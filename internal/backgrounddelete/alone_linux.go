package backgrounddelete

import (
	"os"

	"golang.org/x/sys/unix"
)

// ownedAlone reports whether a file has no name, and is open nowhere else: no process can get a lease for writing on
// a file open in another process.
func ownedAlone(file *os.File) bool {
	fd := file.Fd()
	var status unix.Stat_t
	if unix.Fstat(int(fd), &status) != nil || status.Nlink > 0 {
		return false
	}
	_, err := unix.FcntlInt(fd, unix.F_SETLEASE, unix.F_WRLCK)
	return err == nil
}
