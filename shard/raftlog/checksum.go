package raftlog

import (
	"bytes"
	"crypto/md5"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/lni/dragonboat/v4/raftpb"
	"github.com/lni/vfs"
	"github.com/signalbox/signalbox/shard/raftlog/wal"
)

// A snapshot is an engine file: head length (8 bytes), head, zeros up to a KiB; blocks of 2 MiB, each with its CRC32
// (4); the total block length (8); 8 constant bytes. The engine reads the snapshot when it starts the shard. A block
// with a wrong checksum then stops the process, and the engine does not check the head.
const (
	snapshotSuffix   = ".gbsnap"
	snapshotHead     = 1 << 10
	snapshotBlock    = 2 << 20
	snapshotSum      = 4
	snapshotTail     = 16
	snapshotMetadata = "snapshot.metadata"
	snapshotEnd      = "\x3F\x5B\xCB\xF1\xFA\xBA\x81\x9F"
)

// isSnapshot reports whether a file is a complete snapshot. A complete snapshot's directory has the same name as the
// file, and a longer name while the snapshot is being made.
func isSnapshot(path string) bool {
	name, ok := strings.CutSuffix(filepath.Base(path), snapshotSuffix)
	return ok && filepath.Base(filepath.Dir(path)) == name
}

// verifySnapshot compares a snapshot with its checksums. An ErrDamaged names the file.
func verifySnapshot(disk vfs.FS, path string) error {
	file, err := disk.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	at, sum, err := damageInSnapshot(file, info.Size())
	if err != nil {
		return err
	}
	if at >= 0 {
		return damagedFile(path, at, nil)
	}
	return verifySnapshotMetadata(disk, path, info.Size(), sum)
}

// verifySnapshotMetadata checks that a snapshot matches its metadata: the index, which is in the directory name, the
// size, and the checksum. A snapshot from another host has no metadata.
func verifySnapshotMetadata(disk vfs.FS, path string, size int64, sum []byte) error {
	text, err := readFlagFile(disk, filepath.Join(filepath.Dir(path), snapshotMetadata))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var metadata raftpb.Snapshot
	if decode(&metadata, text) != nil {
		return damagedFile(filepath.Join(filepath.Dir(path), snapshotMetadata), 0, nil)
	}
	name := fmt.Sprintf("snapshot-%016X", metadata.Index)
	switch {
	case filepath.Base(filepath.Dir(path)) != name:
		return damagedFile(path, 0, fmt.Errorf("its metadata is that of %s", name))
	case metadata.FileSize != uint64(size):
		return damagedFile(path, 0, fmt.Errorf("its metadata is that of %d bytes", metadata.FileSize))
	case !bytes.Equal(metadata.Checksum, sum):
		return damagedFile(path, 0, fmt.Errorf("its metadata has the checksum %x", metadata.Checksum))
	}
	return nil
}

// damageInSnapshot returns the offset of the first damaged block, -1 if undamaged, and the checksum over all blocks.
func damageInSnapshot(r io.Reader, size int64) (at int, sum []byte, err error) {
	blocks := int(size) - snapshotHead - snapshotTail
	if blocks < 0 {
		return int(size), nil, nil
	}
	text := make([]byte, snapshotHead)
	if _, err := io.ReadFull(r, text); err != nil {
		return 0, nil, err
	}
	head, ok := decodeSnapshotHead(text)
	if !ok {
		return 0, nil, nil
	}
	var sums []byte
	block := make([]byte, min(snapshotBlock+snapshotSum, blocks))
	for at := 0; at < blocks; at += len(block) {
		block = block[:min(len(block), blocks-at)]
		if _, err := io.ReadFull(r, block); err != nil {
			return 0, nil, err
		}
		payload := block[:max(0, len(block)-snapshotSum)]
		if len(payload) == 0 || crc32.ChecksumIEEE(payload) != binary.BigEndian.Uint32(block[len(payload):]) {
			return snapshotHead + at, nil, nil
		}
		sums = append(sums, block[len(payload):]...)
	}
	tail := make([]byte, snapshotTail)
	if _, err := io.ReadFull(r, tail); err != nil {
		return 0, nil, err
	}
	sum = binary.BigEndian.AppendUint32(nil, crc32.ChecksumIEEE(sums))
	if !bytes.Equal(sum, head.PayloadChecksum) {
		return snapshotHead, nil, nil // each block is intact, but the blocks belong to different snapshots
	}
	if binary.LittleEndian.Uint64(tail) != uint64(blocks) || string(tail[8:]) != snapshotEnd {
		return snapshotHead + blocks, nil, nil
	}
	return -1, sum, nil
}

// decodeSnapshotHead decodes the head and verifies the checksum in it, which was computed with the checksum field
// empty. The head must contain nothing that decoding drops, and only zeros may follow the head: otherwise the engine
// would stop the process.
func decodeSnapshotHead(b []byte) (head raftpb.SnapshotHeader, ok bool) {
	size := binary.LittleEndian.Uint64(b)
	if size > snapshotHead-8 {
		return head, false
	}
	text, rest := b[8:8+size], b[8+size:]
	if decode(&head, text) != nil || len(bytes.Trim(rest, "\x00")) > 0 {
		return head, false
	}
	again, err := head.Marshal()
	if err != nil || !bytes.Equal(again, text) {
		return head, false
	}
	sum := head.HeaderChecksum
	head.HeaderChecksum = nil
	summed, err := head.Marshal()
	ok = err == nil && len(sum) == snapshotSum && crc32.ChecksumIEEE(summed) == binary.BigEndian.Uint32(sum)
	return head, ok
}

// decode decodes an engine message. Bytes the engine did not write may make its decoder panic.
func decode(into interface{ Unmarshal([]byte) error }, text []byte) (err error) {
	defer func() {
		if recover() != nil {
			err = errors.New("not what the engine wrote")
		}
	}()
	return into.Unmarshal(text)
}

// flagSum is the size of the checksum at the beginning of a flag file: half of an MD5 over the rest. In flag files the
// engine keeps facts about a directory. If a checksum is wrong, the engine panics without naming the file.
const flagSum = 8

// flagNames are the names of flag files in the data directory and in a complete snapshot's directory.
var flagNames = map[string]bool{
	"dragonboat.ds": true, "NODEHOST.ID": true, snapshotMetadata: true, "dragonboat.snapshot.message": true,
}

func isFlagFile(path string) bool {
	dir := filepath.Ext(filepath.Dir(path))
	return flagNames[filepath.Base(path)] && dir != ".generating" && dir != ".receiving"
}

// readFlagFile verifies a flag file's checksum, and returns the content after the checksum. An ErrDamaged names the
// file.
func readFlagFile(disk vfs.FS, path string) ([]byte, error) {
	text, err := wal.ReadFile(disk, path, nil)
	if err != nil {
		return nil, err
	}
	if len(text) < flagSum {
		return nil, damagedFile(path, 0, nil)
	}
	sum := md5.Sum(text[flagSum:])
	if !bytes.Equal(text[:flagSum], sum[flagSum:]) {
		return nil, damagedFile(path, 0, nil)
	}
	return text[flagSum:], nil
}
