// Package floor measures lower bounds for every coordination service on this machine: one disk sync, and one bare
// proposal to Signalbox's Raft engine.
package floor

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/signalbox/signalbox/bench/internal/load"
	"github.com/signalbox/signalbox/loadgen/report"
)

const (
	blockBytes = 4 << 10
	fileBytes  = 64 << 20
)

// Fsync writes 4 KiB blocks to a preallocated file below dir, one after another, each followed by fdatasync.
func Fsync(ctx context.Context, dir string, plan load.Plan) (*report.Report, error) {
	file, err := preallocate(filepath.Join(dir, "fsync"))
	if err != nil {
		return nil, fmt.Errorf("measure fsync: %w", err)
	}
	defer os.Remove(file.Name())
	defer file.Close()
	block := make([]byte, blockBytes)
	offset := int64(0)
	write := func(context.Context) error {
		if _, err := file.WriteAt(block, offset); err != nil {
			return err
		}
		offset = (offset + blockBytes) % fileBytes
		return unix.Fdatasync(int(file.Fd()))
	}
	return load.Loop(ctx, plan, []load.Operation{write})
}

func preallocate(name string) (*os.File, error) {
	file, err := os.Create(name)
	if err != nil {
		return nil, err
	}
	// The first full write allocates the reserved blocks, so that later syncs need not mark the blocks as used.
	if _, err = file.Write(make([]byte, fileBytes)); err == nil {
		err = file.Sync()
	}
	if err != nil {
		file.Close()
		os.Remove(name)
		return nil, err
	}
	return file, nil
}
