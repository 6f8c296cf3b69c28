package raftlog

import (
	"bytes"
	"crypto/md5"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"path/filepath"
	"strings"

	"github.com/cockroachdb/pebble/sstable"
	"github.com/lni/dragonboat/v4/raftpb"
	"github.com/lni/vfs"
)

const tableSuffix = ".sst"

func isTable(name string) bool { return filepath.Ext(name) == tableSuffix }

// verifyTable compares all blocks of a table with their checksums. The store does that for each block when it first
// needs it, which may be long after it was opened, and stops the process where they differ. An error is an ErrDamaged.
func verifyTable(fs vfs.FS, name string) (err error) {
	file, err := fs.Open(name)
	if err != nil {
		return err
	}
	defer func() {
		if panicked := recover(); panicked != nil { // the reader follows a damaged length
			err = damagedFile(name, 0, fmt.Errorf("%v", panicked))
		}
	}()
	table, err := sstable.NewReader(file, sstable.ReaderOptions{})
	if err != nil {
		return damagedFile(name, 0, err)
	}
	defer table.Close()
	if err := table.ValidateBlockChecksums(); err != nil {
		return damagedFile(name, 0, err)
	}
	return nil
}

// A snapshot is a file of the engine: length of the head (8 bytes), head, zeros up to a KiB; blocks of 2 MiB, each with
// its CRC32 (4); the length of all blocks (8); 8 bytes that are always the same. The engine reads it when it starts the
// shard. A block with a wrong checksum stops the process then, and the engine does not check the head.
const (
	snapshotSuffix = ".gbsnap"
	snapshotHead   = 1 << 10
	snapshotBlock  = 2 << 20
	snapshotSum    = 4
	snapshotTail   = 16
	snapshotEnd    = "\x3F\x5B\xCB\xF1\xFA\xBA\x81\x9F"
)

// isSnapshot reports whether a file is a complete snapshot: its directory has the same name then, and a longer one
// while the snapshot is being made.
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

// damageInSnapshot returns where the first block begins that is not what was written, -1 where there is none.
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

// soundSnapshotHead compares the head with the checksum in it, which was computed while that field was empty. The head
// may hold nothing that decoding drops, and nothing but zeros may follow it: the engine would stop the process.
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

// decode decodes what the engine encoded. Bytes that the engine did not write may make its decoder panic.
func decode(into interface{ Unmarshal([]byte) error }, text []byte) (err error) {
	defer func() {
		if recover() != nil {
			err = errors.New("not what the engine wrote")
		}
	}()
	return into.Unmarshal(text)
}

// flagSum is the size of the checksum that begins a flag file: half of an MD5 of the rest. The engine keeps in flag
// files what it knows of a directory, and panics without their name where the checksum is wrong.
const flagSum = 8

// flagNames are those in the data directory and, once a snapshot is complete, in its directory.
var flagNames = map[string]bool{
	"dragonboat.ds": true, "NODEHOST.ID": true, "snapshot.metadata": true, "dragonboat.snapshot.message": true,
}

func isFlagFile(path string) bool {
	dir := filepath.Ext(filepath.Dir(path))
	return flagNames[filepath.Base(path)] && dir != ".generating" && dir != ".receiving"
}

// verifyFlagFile compares a flag file with its checksum. An ErrDamaged names the file.
func verifyFlagFile(disk vfs.FS, path string) error {
	text, err := readFile(disk, path)
	if err != nil {
		return err
	}
	if len(text) < flagSum {
		return damagedFile(path, 0, nil)
	}
	sum := md5.Sum(text[flagSum:])
	if !bytes.Equal(text[:flagSum], sum[flagSum:]) {
		return damagedFile(path, 0, nil)
	}
	return nil
}
