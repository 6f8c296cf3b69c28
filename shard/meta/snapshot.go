package meta

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"

	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/access"
	"github.com/signalbox/signalbox/shard/clock"
	"github.com/signalbox/signalbox/shard/internal/codec"
)

// A snapshot is a head and blocks, all fixed-size numbers little endian:
//
//	head   magic (8 bytes), format (4 bytes), CRC32C of both
//	block  kind (1 byte), length of the payload (4 bytes), payload, CRC32C of all three
//
// A payload is fields or records (record.go), or a piece encoded by another package. The kinds come in number order,
// and the end comes last. Counters, slot table and end have one block, all other kinds may have many. The end block has
// the record counts. The head has the same layout in every format, so an old host can report a snapshot as too new.
const (
	snapshotMagic = "SBX-META"
	// snapshotFormat is the format version. A field that belongs to a later level appears only in records of clusters
	// at that level, and needs no new format.
	snapshotFormat = 1
	headBytes      = len(snapshotMagic) + 8

	blockHeadBytes = 5
	// blockTarget is the size at which a record block is closed; maxBlock is the largest block a reader accepts.
	blockTarget = 64 << 10
	maxBlock    = 1 << 20
)

type blockKind uint8

const (
	blockCounters blockKind = 1
	blockRouting  blockKind = 2
	blockHosts    blockKind = 3
	blockNodes    blockKind = 4
	blockDropping blockKind = 5
	blockEnd      blockKind = 6
	blockAnswers  blockKind = 7

	// Once the hosts are bootstrapped: the host records and the plan in pieces, and the versions that hosts have seen.
	blockTopology blockKind = 8
	blockPlan     blockKind = 9
	blockSeen     blockKind = 10

	// After the first change to rights: the rights book, in pieces.
	blockRights blockKind = 11
)

// place returns where blocks of the kind come in a snapshot: the end comes after kinds with higher numbers.
func (k blockKind) place() int {
	if k == blockEnd {
		return math.MaxInt
	}
	return int(k)
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// frozen is the content at one point in time, and never changes.
type frozen struct {
	version  uint64
	lastNode shard.NodeID
	level    level.Level
	routing  Routing
	hosts    []*Host
	nodes    []*Node
	dropping []*Dropped
	clock    clock.Clock
	next     uint64 // NextAnswer
	answers  []*Answer
	topology *topology
	rights   *access.Book
}

// freeze takes the same time for many nodes as for few; the next write to a list copies it.
func (m *Machine) freeze() *frozen {
	m.mu.Lock()
	defer m.mu.Unlock()
	return &frozen{
		version: m.version, lastNode: m.lastNode, level: m.level, routing: m.routing,
		hosts: m.hosts.freeze(), nodes: m.byPath.freeze(), dropping: m.dropping.freeze(),
		clock: m.clock, next: m.answers.next, answers: m.answers.freeze(),
		topology: m.topology.clone(), rights: m.rights,
	}
}

// PrepareSnapshot fixes the present state.
func (m *Machine) PrepareSnapshot() (shard.Snapshot, error) {
	return &snapshot{m.freeze()}, nil
}

// snapshot is a shard.Snapshot. Save and Discard are not called at the same time.
type snapshot struct {
	state *frozen // nil once discarded
}

var _ shard.Snapshot = (*snapshot)(nil)

// Save writes the state.
func (s *snapshot) Save(w io.Writer, stop <-chan struct{}) error {
	if s.state == nil {
		return errors.New("meta: saving a snapshot that was discarded")
	}
	err := s.state.save(&blockWriter{w: w, stop: stop})
	if err != nil && !errors.Is(err, shard.ErrSnapshotStopped) {
		return fmt.Errorf("meta: saving a snapshot: %w", err)
	}
	return err
}

// Discard releases the state.
func (s *snapshot) Discard() { s.state = nil }

func (f *frozen) save(b *blockWriter) error {
	head := append([]byte(nil), snapshotMagic...)
	head = binary.LittleEndian.AppendUint32(head, snapshotFormat)
	head = binary.LittleEndian.AppendUint32(head, crc32.Checksum(head, castagnoli))
	_, b.err = b.w.Write(head)

	b.open(blockCounters)
	b.buf = f.appendCounters(b.buf)
	b.close()
	b.open(blockRouting)
	b.buf = codec.Save(b.buf, f.routing.fields)
	b.close()
	saveRecords(b, blockHosts, f.hosts, (*Host).fields)
	saveRecords(b, blockNodes, f.nodes, (*Node).fields)
	saveRecords(b, blockDropping, f.dropping, (*Dropped).fields)
	saveRecords(b, blockAnswers, f.answers, func(a *Answer, c *codec.Coder) { _ = a.fields(c) })
	f.topology.save(b)
	if f.rights.Revision() > 0 {
		savePieces(b, blockRights, f.rights.Save(nil))
	}
	b.open(blockEnd)
	b.buf = f.appendCounts(b.buf)
	b.close()
	return b.err
}

func (f *frozen) appendCounters(dst []byte) []byte {
	dst = binary.AppendUvarint(dst, f.version)
	dst = binary.AppendUvarint(dst, uint64(f.lastNode))
	dst = append(dst, byte(f.level))
	dst = binary.AppendUvarint(dst, f.next)
	dst = binary.AppendUvarint(dst, f.clock.Term)
	dst = binary.AppendUvarint(dst, f.clock.Now)
	return binary.AppendUvarint(dst, f.clock.Base)
}

func (f *frozen) appendCounts(dst []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(f.hosts)))
	dst = binary.AppendUvarint(dst, uint64(len(f.nodes)))
	dst = binary.AppendUvarint(dst, uint64(len(f.dropping)))
	dst = binary.AppendUvarint(dst, uint64(len(f.answers)))
	return f.topology.appendCounts(dst)
}

func saveRecords[V any](b *blockWriter, kind blockKind, list []*V, fields func(*V, *codec.Coder)) {
	for len(list) > 0 && b.err == nil {
		b.open(kind)
		for len(list) > 0 && len(b.buf) < blockTarget {
			b.buf = codec.Save(b.buf, func(c *codec.Coder) { fields(list[0], c) })
			list = list[1:]
		}
		b.close()
	}
}

// blockWriter writes one block at a time: the buf content between open and close.
type blockWriter struct {
	w    io.Writer
	stop <-chan struct{}
	buf  []byte
	err  error // the first error; nothing is written after it
}

func (b *blockWriter) open(kind blockKind) {
	b.buf = append(b.buf[:0], byte(kind), 0, 0, 0, 0)
}

func (b *blockWriter) close() {
	select {
	case <-b.stop:
		b.err = cmp.Or(b.err, shard.ErrSnapshotStopped)
	default:
	}
	if b.err != nil {
		return
	}
	size := len(b.buf) - blockHeadBytes
	assert(size <= maxBlock, "a block that is written can be read")
	binary.LittleEndian.PutUint32(b.buf[1:], uint32(size))
	b.buf = binary.LittleEndian.AppendUint32(b.buf, crc32.Checksum(b.buf, castagnoli))
	_, b.err = b.w.Write(b.buf)
}
