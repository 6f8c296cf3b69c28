package main

import (
	"errors"
	"iter"

	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
)

// listed adds everything of a list and ends the rows. Where the list breaks off, what there was is shown as well.
func listed[T any](rows *cli.Rows, list iter.Seq2[T, error], add func(T) error) error {
	for thing, err := range list {
		if err == nil {
			err = add(thing)
		}
		if err != nil {
			return errors.Join(err, rows.EndBroken())
		}
	}
	return rows.End()
}
