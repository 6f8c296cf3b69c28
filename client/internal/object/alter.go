package object

import (
	"errors"

	"github.com/signalbox/signalbox/client"
)

// Alter changes a spec from what it is to what change makes of it, once more where another operator was faster. read
// returns the spec in force and its revision, put makes another one that in force, where that is still of the revision.
func Alter[S any](
	read func() (spec S, revision uint64, err error), change func(spec *S) error,
	put func(spec *S, revision uint64) error,
) error {
	for {
		spec, revision, err := read()
		if err == nil {
			err = change(&spec)
		}
		if err != nil {
			return err
		}
		if err = put(&spec, revision); !errors.Is(err, client.ErrPreconditionFailed) {
			return err
		}
		if _, now, readErr := read(); readErr != nil || now == revision {
			return err // it was not another operator
		}
	}
}
