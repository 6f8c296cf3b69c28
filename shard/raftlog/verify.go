package raftlog

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/lni/vfs"
)

// The engine's store reads its log files and its manifests until it finds a record that is not whole, and takes that for
// the end: after a power failure it is. But where a file was damaged later it would leave out what comes behind, which
// was acknowledged, and go on as if nothing were missing. So the files are looked through before: what is not
// whole must lie behind all that the marks (mark.go) say was synced.
//
// A file is blocks of 32 KiB, of chunks: checksum (4 bytes), length (2), kind (1), number of the file (4),
// payload. A record is one chunk (kind 5) or several (6, 7 ..., 8). In manifests there is no number, and kinds begin at 1.
const (
	walBlock = 32 << 10
	walHead  = 11
	walFull  = 5
	walFirst = 6
)

// verifyFiles looks through the files below a directory. An error is an ErrDamaged that names the file. Tables are looked at
// when it is known which are needed (files.Stat).
//
// It also syncs the directories. A process that was killed may have given names that it had not synced, and who finds
// them takes them for granted from now on.
func verifyFiles(disk vfs.FS, dir string) error {
	if err := verifyBelow(disk, dir); err != nil {
		return fmt.Errorf("raftlog: look through the data directory: %w", err)
	}
	return nil
}

func verifyBelow(disk vfs.FS, dir string) error {
	names, err := disk.List(dir)
	if err != nil {
		return err
	}
	if current := filepath.Join(dir, currentName); !slices.Contains(names, currentName) && usedStore(disk, dir, names) {
		return missingFile(current)
	}
	for _, name := range names {
		path := filepath.Join(dir, name)
		info, err := disk.Stat(path)
		switch {
		case err != nil:
		case info.IsDir():
			err = verifyBelow(disk, path)
		default:
			err = verifyFile(disk, path)
		}
		if err != nil {
			return err
		}
	}
	return syncDirectory(disk, dir)
}

// usedStore tells whether the directory is that of a store that has been complete: one that a process was killed over
// while it was made has no table, and its log is that of the beginning.
func usedStore(disk vfs.FS, dir string, names []string) bool {
	manifests, logs := 0, uint32(0)
	for _, name := range names {
		switch {
		case isManifest(name):
			manifests++
		case isLogFile(name):
			logs = max(logs, fileNumber(name))
		case strings.HasSuffix(name, tableSuffix):
			return true
		}
	}
	return manifests > 0 && logs > 0
}

func verifyFile(disk vfs.FS, path string) error {
	var layout chunkLayout
	switch {
	case isSnapshot(path):
		return verifySnapshot(disk, path)
	case isFlagFile(path):
		return verifyFlagFile(disk, path)
	case isCurrent(path):
		return verifyCurrent(disk, path)
	case isSealed(path):
		_, err := openSealed(disk, path)
		return err
	case isLogFile(path):
		layout = logLayout(fileNumber(path))
	case isManifest(path):
		layout = manifestLayout
	default:
		return nil
	}
	data, err := readFile(disk, path)
	if err != nil {
		return err
	}
	whole := layout.end(data)
	if synced(data, whole, fileNumber(path)) > int64(whole) {
		return damagedFile(path, whole, nil)
	}
	return nil
}

// verifyCurrent looks at what names the manifest, and whether that begins as one: its first sector was complete before it
// was named.
func verifyCurrent(disk vfs.FS, path string) error {
	current, err := openSealed(disk, path)
	if err != nil {
		return err
	}
	name, err := io.ReadAll(current)
	if err != nil {
		return err
	}
	manifest := filepath.Join(filepath.Dir(path), strings.TrimSpace(string(name)))
	data, err := readFile(disk, manifest)
	if err != nil {
		return damagedFile(manifest, 0, err)
	}
	if len(data) < sector || manifestLayout.end(data) == 0 {
		return damagedFile(manifest, 0, nil)
	}
	return nil
}

// chunkLayout is what chunks of a file look like.
type chunkLayout struct {
	head   int  // bytes before the payload
	full   byte // the first of the kinds
	number uint32
}

func logLayout(number uint32) chunkLayout {
	return chunkLayout{head: walHead, full: walFull, number: number}
}

var manifestLayout = chunkLayout{head: walHead - 4, full: 1}

// end returns where the chunks end that are whole and in order, with what ends a log file that was closed.
func (l chunkLayout) end(data []byte) int {
	pos := 0
	for pos+l.head <= len(data) {
		left := walBlock - pos%walBlock
		if left < l.head {
			pos += left // the rest of a block that has no room for a chunk
			continue
		}
		size, _ := l.chunk(data[pos:min(pos+left, len(data))])
		if size == 0 {
			if l.closes(data[pos:]) {
				return pos + l.head
			}
			return pos
		}
		pos += size
	}
	return pos
}

// chunk returns the size and kind of the chunk which b begins with, 0 where it does not.
func (l chunkLayout) chunk(b []byte) (size int, kind byte) {
	if len(b) < l.head {
		return 0, 0
	}
	kind = b[6]
	size = l.head + int(binary.LittleEndian.Uint16(b[4:]))
	if kind < l.full || kind > l.full+3 || size > len(b) {
		return 0, 0
	}
	if l.head == walHead && binary.LittleEndian.Uint32(b[7:]) != l.number {
		return 0, 0
	}
	sum := crc32.Checksum(b[6:size], castagnoli)
	if sum = sum>>15 | sum<<17; sum+0xa282ead8 != binary.LittleEndian.Uint32(b) {
		return 0, 0
	}
	return size, kind
}

// closes tells whether b begins with what a store writes behind the last record of a log file: the head of a chunk of the
// next file, empty and without a checksum.
func (l chunkLayout) closes(b []byte) bool {
	return l.head == walHead && binary.LittleEndian.Uint32(b) == 0 && binary.LittleEndian.Uint16(b[4:]) == 0 &&
		b[6] == walFull && binary.LittleEndian.Uint32(b[7:]) == l.number+1
}
