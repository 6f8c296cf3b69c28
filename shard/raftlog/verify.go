package raftlog

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// The engine's store reads its log files until it finds a record that is not whole, and takes that for the end:
// after a power failure it is. But where a file was damaged later it would leave out what comes behind, which
// was acknowledged, and go on as if nothing were missing. So the files are looked through before.
//
// A file is blocks of 32 KiB, of chunks: checksum (4 bytes), length (2), kind (1), number of the file (4),
// payload. A record is one chunk (kind 5) or several (6, 7 ..., 8).
const (
	walBlock     = 32 << 10
	walHead      = 11
	walFull      = 5
	walFirst     = 6
	walLast      = 8
	walUnsynced  = 16 // so many records may lie behind a torn one
	repairAdvice = "what it holds cannot be trusted; see \"Failure and repair\" in docs/operating.md"
)

// ErrDamaged is returned by Open for a data directory in which a file is not what was written.
var ErrDamaged = errors.New("raftlog: a file of the data directory is damaged")

// verifyLogFiles looks through the log files below a directory. An error is an ErrDamaged that names the file.
func verifyLogFiles(dir string) error {
	return filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return fmt.Errorf("raftlog: look through the data directory: %w", err)
		}
		number, isLog := strings.CutSuffix(entry.Name(), ".log")
		n, bad := strconv.ParseUint(number, 10, 64)
		if !isLog || bad != nil || !entry.Type().IsRegular() {
			return nil
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return fmt.Errorf("raftlog: look through the data directory: %w", err)
		}
		if at, damaged := damagedAt(data, uint32(n)); damaged {
			return fmt.Errorf("%w: %s, at byte %d: %s", ErrDamaged, path, at, repairAdvice)
		}
		return nil
	})
}

// damagedAt finds what is no chunk of the file, with whole records behind it that were written when it had been
// synced. The store writes one record after the other and syncs all but a few of them at once; so where
// there are more than those few, what is before them was synced, and has changed since.
func damagedAt(data []byte, number uint32) (at int, damaged bool) {
	at = -1
	behind := 0
	for pos := 0; pos+walHead <= len(data); {
		left := walBlock - pos%walBlock
		if left < walHead {
			pos += left // the rest of a block that has no room for a chunk
			continue
		}
		size, kind := chunk(data[pos:min(pos+left, len(data))], number)
		switch {
		case size == 0:
			if at < 0 {
				at = pos
			}
			pos++
			continue
		case at >= 0 && (kind == walFull || kind == walFirst):
			if behind++; behind > walUnsynced {
				return at, true
			}
		}
		pos += size
	}
	return 0, false
}

// chunk returns the size and kind of the chunk of that file which b begins with, 0 where it does not.
func chunk(b []byte, number uint32) (size int, kind byte) {
	if len(b) < walHead {
		return 0, 0
	}
	kind = b[6]
	size = walHead + int(binary.LittleEndian.Uint16(b[4:]))
	if kind < walFull || kind > walLast || size > len(b) || binary.LittleEndian.Uint32(b[7:]) != number {
		return 0, 0
	}
	sum := crc32.Checksum(b[6:size], castagnoli)
	if sum = sum>>15 | sum<<17; sum+0xa282ead8 != binary.LittleEndian.Uint32(b) {
		return 0, 0
	}
	return size, kind
}
