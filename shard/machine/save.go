package machine

import (
	"encoding/binary"
	"hash/crc32"
	"io"

	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/internal/arena"
	"github.com/signalbox/signalbox/shard/internal/assert"
	"github.com/signalbox/signalbox/shard/internal/codec"
)

// The snapshot file:
//
//	magic 16 bytes, format uint32, then blocks:
//	kind 1 byte, length uint32, the bytes of the block, CRC-32C of kind, length and bytes uint32
//
// All integers are little-endian or varints. The first block is the header. Then come record blocks, each record after
// its length as uint32. The last block is the end block, with the record count for each phase. Sealed and transferred
// slots' snapshots have one block each, right behind the header.
const (
	snapshotMagic = "signalbox shard\n"
	// snapshotFormat is the format version. The header begins with the shard's feature level. A field that belongs to a
	// later level appears only in records of shards at that level, and needs no new format.
	snapshotFormat = 1

	blockHeader = 1
	blockFirst  = 2  // plus the phase
	blockSlot   = 14 // a slot snapshot
	blockEnd    = 15

	// saveStep is how many entries are looked at under one hold of the read lock, saveBytes how many bytes may be
	// collected before the lock is released.
	saveStep  = 256
	saveBytes = 256 << 10
	// maxBlock is the maximum block length: saveBytes and one more record of any length.
	maxBlock = 16 << 20
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Save writes the snapshot, and may run beside Apply.
func (sn *snapshot) Save(w io.Writer, stop <-chan struct{}) error {
	out := blockWriter{w: w}
	out.write([]byte(snapshotMagic))
	out.write(binary.LittleEndian.AppendUint32(nil, snapshotFormat))
	out.block(blockHeader, sn.header.append(nil))
	for _, content := range sn.header.slots.Contents() {
		out.block(blockSlot, content.Append(nil))
	}
	var counts [phases]uint64
	var buf []byte
	for p := range phases {
		for done := false; !done && out.err == nil; {
			select {
			case <-stop:
				return shard.ErrSnapshotStopped
			default:
			}
			var ok bool
			if buf, done, ok = sn.step(buf[:0], p); !ok {
				return shard.ErrSnapshotStopped
			}
			counts[p] += countRecords(buf)
			out.records(blockFirst+byte(p), buf)
		}
	}
	var end []byte
	for _, n := range counts {
		end = binary.LittleEndian.AppendUint64(end, n)
	}
	out.block(blockEnd, end)
	return out.err
}

// step collects the phase's next few records, and the records that were set aside. ok is false if the content was
// replaced, so there is nothing to save.
func (sn *snapshot) step(buf []byte, p phase) (_ []byte, done, ok bool) {
	buf, late, done, ok := sn.take(buf, p)
	for i := range late {
		buf = late[i].append(buf)
	}
	return buf, done, ok
}

// take is the part of step under the read lock. Frozen records are encoded later, without the lock.
func (sn *snapshot) take(buf []byte, p phase) (_ []byte, late []frozenRecord, done, ok bool) {
	m := sn.m
	m.mu.RLock()
	defer m.mu.RUnlock()
	if sn.over {
		return buf, nil, true, false
	}
	for n := 0; n < saveStep && len(buf) < saveBytes && sn.cursor < sn.ends[p]; n++ {
		if m.core.Snapshots.isOlder(p, sn.cursor, sn.epoch) {
			buf = sn.appendRecord(buf, p, sn.cursor)
		}
		sn.cursor++
	}
	buf, late = append(buf, sn.aside[p]...), sn.frozen[p]
	sn.aside[p], sn.frozen[p] = nil, nil
	if sn.cursor < sn.ends[p] {
		return buf, late, false, true
	}
	sn.at, sn.cursor = p+1, 1
	assert.That(sn.records[p] == sn.things[p], "a snapshot has a record of everything, and one only")
	assert.That(sn.at < phases || sn.size == sn.header.bytes,
		"what counts in quotas is what the records of a snapshot come to")
	return buf, late, true, true
}

// appendRecord appends the record for an entry's present form, and counts the record.
func (sn *snapshot) appendRecord(dst []byte, p phase, h arena.Handle) []byte {
	sn.count(p, h)
	return sn.m.core.Snapshots.appendRecord(dst, p, h, sn.as)
}

// count counts the record for an entry's present form.
func (sn *snapshot) count(p phase, h arena.Handle) {
	sn.records[p]++
	sn.size += uint64(sn.m.core.Snapshots.sizeOf(p, h))
}

// isOlder reports whether the handle refers to an entry that has not changed since the epoch began.
func (snaps *Snapshots) isOlder(p phase, h arena.Handle, epoch uint32) bool {
	switch p {
	case phaseSessions:
		s := snaps.core.Sessions.At(h)
		return s.id != 0 && s.stamp < epoch
	case phaseObjects:
		o := snaps.core.Objects.At(h)
		return o.node != 0 && o.stamp < epoch
	default:
		l := snaps.core.Holdings.At(h)
		return l.Order != 0 && l.stamp < epoch
	}
}

func (sh *snapshotHeader) append(dst []byte) []byte {
	dst = append(dst, byte(sh.level))
	dst = codec.AppendBytes(dst, sh.slots.Save(nil))
	dst = binary.AppendUvarint(dst, uint64(sh.lastOrder))
	dst = binary.AppendUvarint(dst, uint64(sh.lastRevision))
	dst = binary.AppendUvarint(dst, sh.lastSession)
	dst = binary.AppendUvarint(dst, sh.clock.Term)
	dst = binary.AppendUvarint(dst, uint64(len(sh.dropping)))
	for _, id := range sh.dropping {
		dst = binary.AppendUvarint(dst, uint64(id))
	}
	dst = binary.AppendUvarint(dst, uint64(len(sh.pending)))
	for _, p := range sh.pending {
		dst = appendPending(dst, p)
	}
	dst = appendLimits(dst, sh.limits)
	dst = binary.AppendUvarint(dst, uint64(len(sh.limited)))
	for _, l := range sh.limited {
		dst = binary.AppendUvarint(dst, uint64(l.Node))
		dst = appendLimits(dst, l.Limits)
	}
	dst = binary.AppendUvarint(dst, sh.bytes)
	dst = binary.AppendUvarint(dst, sh.clock.Now)
	dst = binary.AppendUvarint(dst, sh.clock.Base)
	return appendGroup(dst, &sh.group)
}

func appendLimits(dst []byte, l shard.Limits) []byte {
	dst = binary.AppendUvarint(dst, l.Objects)
	return binary.AppendUvarint(dst, l.Bytes)
}

func appendPending(dst []byte, p shard.PendingState) []byte {
	dst = binary.LittleEndian.AppendUint64(dst, uint64(p.Session))
	dst = binary.AppendUvarint(dst, uint64(p.Node))
	dst = codec.AppendBytes(dst, p.Name)
	deleting := byte(0)
	if p.Deleting {
		deleting = 1
	}
	return append(dst, deleting)
}

func countRecords(buf []byte) (n uint64) {
	for len(buf) > 0 {
		buf = buf[4+binary.LittleEndian.Uint32(buf):]
		n++
	}
	return n
}

// blockWriter writes blocks until the first error.
type blockWriter struct {
	w   io.Writer
	buf []byte
	err error
}

func (b *blockWriter) write(p []byte) {
	if b.err == nil {
		_, b.err = b.w.Write(p)
	}
}

// records writes records, split into as many blocks as necessary.
func (b *blockWriter) records(kind byte, buf []byte) {
	for len(buf) > 0 {
		n := 0
		for n < len(buf) && n < saveBytes {
			n += 4 + int(binary.LittleEndian.Uint32(buf[n:]))
		}
		b.block(kind, buf[:n])
		buf = buf[n:]
	}
}

func (b *blockWriter) block(kind byte, payload []byte) {
	b.buf = append(b.buf[:0], kind)
	b.buf = binary.LittleEndian.AppendUint32(b.buf, uint32(len(payload)))
	b.buf = append(b.buf, payload...)
	b.buf = binary.LittleEndian.AppendUint32(b.buf, crc32.Checksum(b.buf, castagnoli))
	b.write(b.buf)
}
