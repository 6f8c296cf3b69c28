package cli

import (
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// awaitReaderGone waits until a pipe's reader has closed it. awaitReaderGone returns false if the reader's state
// cannot be determined.
func awaitReaderGone(out io.Writer) bool {
	file, ok := out.(*os.File)
	if !ok {
		return false
	}
	watched := []unix.PollFd{{Fd: int32(file.Fd())}} // poll always reports a closed pipe, as an error
	for {
		_, err := unix.Poll(watched, -1)
		if err != unix.EINTR {
			return err == nil && watched[0].Revents&unix.POLLERR != 0
		}
	}
}
