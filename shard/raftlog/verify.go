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

// The engine's store reads its log files and its manifests until it finds a record that is not whole, and takes that
// for the end. After a power failure it is the end. But where a file was damaged later the store would leave out the
// records after it, which were acknowledged, without noticing. So the files are verified first: a record that is not
// whole must come after all that the marks (sector.go) say was synced.
//
// A file is blocks of 32 KiB, of chunks: checksum (4 bytes), length (2), kind (1), number of the file (4), payload. A
// record is one chunk (kind 5) or several (6, 7 ..., 8). In manifests there is no number, and kinds begin at 1.
const (
	walBlock = 32 << 10
	walHead  = 11
	walFull  = 5
	walFirst = 6
)

// verifyFiles verifies the files below a directory. An error is an ErrDamaged that names the file. Tables are verified
// when it is known which are needed (files.Stat).
//
// It also syncs the directories. A process that was killed may have given files names that it had not synced, and this
// one relies on them from now on.
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

// usedStore reports whether the directory is that of a store that was complete once. A store whose making was
// interrupted has no table, and only its first log file.
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

// verifyCurrent verifies CURRENT, and that the manifest that it names begins as one: the manifest's first sector was
// complete before it was named.
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

// chunkLayout is the form of the chunks of a file.
type chunkLayout struct {
	head   int  // bytes before the payload
	full   byte // the first of the kinds
	number uint32
}

func logLayout(number uint32) chunkLayout {
	return chunkLayout{head: walHead, full: walFull, number: number}
}

var manifestLayout = chunkLayout{head: walHead - 4, full: 1}

// end returns where the whole chunks end, including the chunk that ends a closed log file.
func (c chunkLayout) end(data []byte) int {
	pos := 0
	for pos+c.head <= len(data) {
		left := walBlock - pos%walBlock
		if left < c.head {
			pos += left // the rest of a block that has no room for a chunk
			continue
		}
		size, _ := c.chunk(data[pos:min(pos+left, len(data))])
		if size == 0 {
			if c.closes(data[pos:]) {
				return pos + c.head
			}
			return pos
		}
		pos += size
	}
	return pos
}

// chunk returns the size and kind of the chunk at the beginning of b, 0 where there is none.
func (c chunkLayout) chunk(b []byte) (size int, kind byte) {
	if len(b) < c.head {
		return 0, 0
	}
	kind = b[6]
	size = c.head + int(binary.LittleEndian.Uint16(b[4:]))
	if kind < c.full || kind > c.full+3 || size > len(b) {
		return 0, 0
	}
	if c.head == walHead && binary.LittleEndian.Uint32(b[7:]) != c.number {
		return 0, 0
	}
	sum := crc32.Checksum(b[6:size], castagnoli)
	if sum = sum>>15 | sum<<17; sum+0xa282ead8 != binary.LittleEndian.Uint32(b) {
		return 0, 0
	}
	return size, kind
}

// closes reports whether b begins with what a store writes after the last record of a log file: the head of a chunk of
// the next file, empty and without a checksum.
func (c chunkLayout) closes(b []byte) bool {
	return c.head == walHead && binary.LittleEndian.Uint32(b) == 0 && binary.LittleEndian.Uint16(b[4:]) == 0 &&
		b[6] == walFull && binary.LittleEndian.Uint32(b[7:]) == c.number+1
}
