package raftlog

import (
	"errors"
	"fmt"
)

// ErrDamaged is returned by Open for a data directory in which a file is not what was written.
var ErrDamaged = errors.New("raftlog: a file of the data directory is damaged")

const repairAdvice = "what it holds cannot be trusted; see \"Failure and repair\" in docs/operating.md"

// damage is an ErrDamaged that names the file. It does not wrap anything, because it comes to the engine's store and back
// from there, and of errors that wrap others the store leaves the text out.
type damage struct {
	file  string
	at    int   // -1: it is missing
	cause error // what the reader says, nil where there is nothing to say
}

// missingFile is the damage of a file that is not there.
func missingFile(name string) error { return &damage{file: name, at: -1} }

func damagedFile(name string, at int, cause error) error { return &damage{name, at, cause} }

// Error implements error.
func (d *damage) Error() string {
	if d.at < 0 {
		return fmt.Sprintf("%v: %s is missing: put it back; without it %s", ErrDamaged, d.file, repairAdvice)
	}
	text := fmt.Sprintf("%v: %s, from byte %d on: %s", ErrDamaged, d.file, d.at, repairAdvice)
	if d.cause != nil {
		text += fmt.Sprintf(" (%v)", d.cause)
	}
	return text
}

// Is makes it an ErrDamaged.
func (d *damage) Is(target error) bool { return target == ErrDamaged }
