//go:build unix

package datadir

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"time"

	"github.com/lni/dragonboat/v4/raftpb"
)

// Snapshot is a shard's snapshot.
type Snapshot struct {
	File
	Shard uint64
	// Index is the index of the snapshot's last log entry.
	Index uint64
	Saved time.Time
}

// snapshotPath matches the log engine's snapshot paths: by shard and replica, and by index.
var snapshotPath = regexp.MustCompile(`/snapshot-(\d+)-\d+/snapshot-([0-9A-F]{16})/snapshot-[0-9A-F]{16}\.gbsnap$`)

// snapshotOf parses shard and index from a snapshot's path. snapshotOf returns false for all other files.
func snapshotOf(f File, saved time.Time) (Snapshot, bool) {
	m := snapshotPath.FindStringSubmatch("/" + filepath.ToSlash(f.Path))
	if m == nil {
		return Snapshot{}, false
	}
	shard, err := strconv.ParseUint(m[1], 10, 64)
	index, err2 := strconv.ParseUint(m[2], 16, 64)
	return Snapshot{f, shard, index, saved}, err == nil && err2 == nil
}

// compareSnapshots sorts by shard, then by index.
func compareSnapshots(a, b Snapshot) int {
	return cmp.Or(cmp.Compare(a.Shard, b.Shard), cmp.Compare(a.Index, b.Index))
}

// Parts of the engine's file around a machine's saved state: a header, blocks with checksums, and a tail. The block
// content begins with the engine's own clients, of which there are none.
const (
	headerBytes   = 1024
	blockBytes    = 2 << 20
	checksumBytes = 4
	tailBytes     = 16
	engineClients = 16
	blockFormat   = 2
)

// ErrDamaged: a snapshot differs from what the host wrote.
var ErrDamaged = errors.New("damaged")

// reader extracts a machine's saved state from the engine's file.
type reader struct {
	file   *os.File
	rest   int64 // remaining block bytes in the file
	block  []byte
	unread []byte
}

// openSnapshot opens a snapshot at the machine's state.
func openSnapshot(path string) (*reader, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	r := &reader{file: file, block: make([]byte, blockBytes+checksumBytes)}
	if err := r.begin(); err != nil {
		file.Close()
		return nil, err
	}
	return r, nil
}

// begin checks the engine's header, and moves to the machine's state.
func (r *reader) begin() error {
	info, err := r.file.Stat()
	if err != nil {
		return err
	}
	r.rest = info.Size() - headerBytes - tailBytes
	head := make([]byte, headerBytes)
	if _, err := io.ReadFull(r.file, head); err != nil || r.rest < engineClients {
		return fmt.Errorf("%w: too short", ErrDamaged)
	}
	size := binary.LittleEndian.Uint64(head)
	if size > headerBytes-8 {
		return fmt.Errorf("%w: invalid header length %d", ErrDamaged, size)
	}
	var header raftpb.SnapshotHeader
	if err := header.Unmarshal(head[8 : 8+size]); err != nil {
		return fmt.Errorf("%w: invalid header: %w", ErrDamaged, err)
	}
	if header.Version != blockFormat || header.ChecksumType != raftpb.CRC32IEEE ||
		header.CompressionType != raftpb.NoCompression {
		return fmt.Errorf("unknown snapshot format %d; use a newer signalbox", header.Version)
	}
	clients := make([]byte, engineClients)
	if _, err := io.ReadFull(r, clients); err != nil {
		return err
	}
	if n := binary.LittleEndian.Uint64(clients[8:]); n != 0 {
		return fmt.Errorf("%w: %d log sessions", ErrDamaged, n)
	}
	return nil
}

// Read implements io.Reader.
func (r *reader) Read(b []byte) (int, error) {
	if len(r.unread) == 0 {
		if err := r.fill(); err != nil {
			return 0, err
		}
	}
	n := copy(b, r.unread)
	r.unread = r.unread[n:]
	return n, nil
}

// fill reads a block.
func (r *reader) fill() error {
	n := min(r.rest, int64(len(r.block)))
	if n == 0 {
		return io.EOF
	}
	if _, err := io.ReadFull(r.file, r.block[:n]); err != nil || n <= checksumBytes {
		return fmt.Errorf("%w: truncated", ErrDamaged)
	}
	r.rest -= n
	r.unread = r.block[:n-checksumBytes]
	if sum := crc32.ChecksumIEEE(r.unread); binary.BigEndian.Uint32(r.block[n-checksumBytes:n]) != sum {
		return fmt.Errorf("%w: wrong block checksum", ErrDamaged)
	}
	return nil
}

func (r *reader) Close() { _ = r.file.Close() }
