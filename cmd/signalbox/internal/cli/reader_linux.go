package cli

import (
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// awaitReaderGone waits until the reader of a pipe has closed the pipe. The result is false where the state of the
// reader cannot be known.
func awaitReaderGone(out io.Writer) bool {
	file, ok := out.(*os.File)
	if !ok {
		return false
	}
	watched := []unix.PollFd{{Fd: int32(file.Fd())}} // poll reports a closed pipe unasked, as an error
	for {
		_, err := unix.Poll(watched, -1)
		if err != unix.EINTR {
			return err == nil && watched[0].Revents&unix.POLLERR != 0
		}
	}
}
