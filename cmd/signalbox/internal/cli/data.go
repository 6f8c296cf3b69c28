package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/signalbox/signalbox/gateway/operation"
	"github.com/signalbox/signalbox/protocol"
)

// DataHelp describes how data is given, for the help of commands that use Data.
const DataHelp = operation.DataHelp

// Data returns the data for an argument: the argument itself, a file's content for @FILE, or standard input for -.
func (f *Frame) Data(argument string) ([]byte, error) {
	switch {
	case argument == "-":
		return f.DataOf("standard input", func() ([]byte, error) {
			return io.ReadAll(io.LimitReader(f.In, protocol.MaxDataBytes+1))
		})
	case strings.HasPrefix(argument, "@@"):
		return []byte(argument[1:]), nil
	case strings.HasPrefix(argument, "@"):
		path := argument[1:]
		return f.DataOf(path, func() ([]byte, error) { return readSmall(path, protocol.MaxDataBytes) })
	}
	return []byte(argument), nil
}

// DataOf returns the data that read returns, unless it is longer than the maximum.
func (f *Frame) DataOf(from string, read func() ([]byte, error)) ([]byte, error) {
	data, err := read()
	if err == nil && len(data) > protocol.MaxDataBytes {
		err = fmt.Errorf("the data is longer than the limit of %d bytes", protocol.MaxDataBytes)
	}
	if err != nil {
		return nil, Errorf(ExitUsage, "cannot read data from %s: %w", Safe(from), err)
	}
	return data, nil
}

// Amount is a semaphore count or limit in the form users write.
type Amount = operation.Amount
