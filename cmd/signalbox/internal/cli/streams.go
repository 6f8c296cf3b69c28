package cli

import (
	"io"
	"strings"
)

// Streams are what a command has of the world besides its arguments.
type Streams struct {
	In          io.Reader
	Out, Err    io.Writer
	Environment []string // lines of the form NAME=TEXT, as os.Environ returns them
}

// Variable returns a variable of the environment. One that is empty counts as none.
func (s Streams) Variable(name string) string {
	// The last of several lines of a name counts, as it does for processes that are started with them.
	text := ""
	for _, line := range s.Environment {
		if n, t, ok := strings.Cut(line, "="); ok && n == name {
			text = t
		}
	}
	return text
}
