package raftlog

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"path/filepath"
	"strings"

	"github.com/lni/dragonboat/v4/raftpb"
	"github.com/lni/vfs"
)

// A snapshot is a file of the engine's: length of the head (8 bytes), head, zeros up to a KiB; blocks of 2 MiB, each with its
// CRC32 (4); the length of all that (8); 8 bytes that are always the same. The engine reads it when it starts the shard. A block
// that is not what it was stops the process then, and the checksum in the head is not looked at.
const (
	snapshotSuffix = ".gbsnap"
	snapshotHead   = 1 << 10
	snapshotBlock  = 2 << 20
	snapshotSum    = 4
	snapshotTail   = 16
	snapshotEnd    = "\x3F\x5B\xCB\xF1\xFA\xBA\x81\x9F"
)

// isSnapshot tells whether a file is a snapshot that was completed: its directory has its name then, and a longer one while
// it is being made.
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
	at, err := damageInSnapshot(file, info.Size())
	if err != nil {
		return err
	}
	if at >= 0 {
		return damagedFile(path, at, nil)
	}
	return nil
}

// damageInSnapshot returns where the part begins that is not what was written, -1 where there is none.
func damageInSnapshot(r io.Reader, size int64) (at int, err error) {
	blocks := int(size) - snapshotHead - snapshotTail
	if blocks < 0 {
		return int(size), nil
	}
	head := make([]byte, snapshotHead)
	if _, err := io.ReadFull(r, head); err != nil {
		return 0, err
	}
	if !soundSnapshotHead(head) {
		return 0, nil
	}
	block := make([]byte, min(snapshotBlock+snapshotSum, blocks))
	for at := 0; at < blocks; at += len(block) {
		block = block[:min(len(block), blocks-at)]
		if _, err := io.ReadFull(r, block); err != nil {
			return 0, err
		}
		payload := block[:max(0, len(block)-snapshotSum)]
		if len(payload) == 0 || crc32.ChecksumIEEE(payload) != binary.BigEndian.Uint32(block[len(payload):]) {
			return snapshotHead + at, nil
		}
	}
	tail := make([]byte, snapshotTail)
	if _, err := io.ReadFull(r, tail); err != nil {
		return 0, err
	}
	if binary.LittleEndian.Uint64(tail) != uint64(blocks) || string(tail[8:]) != snapshotEnd {
		return snapshotHead + blocks, nil
	}
	return -1, nil
}

// soundSnapshotHead compares the head with the checksum in it, which is of what the head was before that was in it. Nothing may
// be in it that decoding leaves out, and nothing behind it, where the engine would stop the process.
func soundSnapshotHead(b []byte) bool {
	size := binary.LittleEndian.Uint64(b)
	if size > snapshotHead-8 {
		return false
	}
	text, rest := b[8:8+size], b[8+size:]
	var head raftpb.SnapshotHeader
	if decode(&head, text) != nil || len(bytes.Trim(rest, "\x00")) > 0 {
		return false
	}
	again, err := head.Marshal()
	if err != nil || !bytes.Equal(again, text) {
		return false
	}
	sum := head.HeaderChecksum
	head.HeaderChecksum = nil
	summed, err := head.Marshal()
	return err == nil && len(sum) == snapshotSum && crc32.ChecksumIEEE(summed) == binary.BigEndian.Uint32(sum)
}

// decode reads what the engine encoded. What it makes of bytes that it did not write may be a panic.
func decode(into interface{ Unmarshal([]byte) error }, text []byte) (err error) {
	defer func() {
		if recover() != nil {
			err = errors.New("not what the engine wrote")
		}
	}()
	return into.Unmarshal(text)
}
