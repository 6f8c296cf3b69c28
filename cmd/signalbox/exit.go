package main

import "errors"

// The codes that this program exits with. Those from 64 on are of sysexits.h. The Go runtime exits with 2
// when the program crashes, so nothing else does: a supervisor can tell what a restart may mend.
const (
	exitDone    = 0  // done, or stopped as asked
	exitFailed  = 1  // any failure that has no code of its own
	exitUsage   = 64 // the command line or the settings are wrong
	exitData    = 65 // the data directory cannot be used
	exitAddress = 69 // an address cannot be listened on
	exitSignal  = 128
)

// coded is an error that says which code to exit with.
type coded struct {
	error
	code int
}

func (c coded) Unwrap() error { return c.error }

// exitWith gives an error its code.
func exitWith(code int, err error) error {
	if err == nil {
		return nil
	}
	return coded{err, code}
}

func exitCode(err error) int {
	if err == nil {
		return exitDone
	}
	if c, ok := errors.AsType[coded](err); ok {
		return c.code
	}
	return exitFailed
}
