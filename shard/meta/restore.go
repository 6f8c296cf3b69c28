package meta

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/internal/codec"
)

var (
	// ErrSnapshot is wrapped by every error from restoring a snapshot.
	ErrSnapshot = errors.New("meta: bad snapshot")
	// ErrSnapshotNewer is an ErrSnapshot: a newer host wrote the snapshot. Nothing is broken; run a newer program.
	ErrSnapshotNewer = fmt.Errorf("%w: %w", ErrSnapshot, shard.ErrNewerFormat)
)

// Restore replaces the content by a saved snapshot, and does not read past the snapshot's end. Errors wrap ErrSnapshot,
// and leave the machine unchanged.
func (m *Machine) Restore(r io.Reader) error {
	l := loader{r: r, content: newContent(), seen: newSeen()}
	if err := l.load(); err != nil {
		if errors.Is(err, ErrSnapshot) {
			return err
		}
		return fmt.Errorf("%w: %w", ErrSnapshot, err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.content = l.content
	return nil
}

// loader builds a snapshot's content. It accepts only content a machine could have reached through commands, because a
// machine's own assertions would stop the host much later and with less information.
type loader struct {
	content
	r       io.Reader
	block   int // number of blocks read
	payload []byte
	pieces  pieces
	seen    index[shard.HostID, HostObservation]
}

func (l *loader) load() error {
	if err := l.head(); err != nil {
		return err
	}
	last := blockKind(0)
	for {
		kind, err := l.next()
		if err != nil {
			return err
		}
		single := kind == blockCounters || kind == blockRouting || kind == blockEnd
		switch {
		case kind == 0 || kind > blockRights:
			err = fmt.Errorf("kind %d is unknown", kind)
		case kind.place() < last.place() || kind == last && single,
			last < blockCounters && kind != blockCounters,
			last < blockRouting && kind > blockRouting:
			err = fmt.Errorf("kind %d does not follow kind %d", kind, last)
		default:
			fields := codec.Reader(l.payload)
			if err = l.readBlock(kind, fields); err == nil {
				fields.Input().End()
				err = fields.Err()
			}
		}
		if err != nil {
			return fmt.Errorf("block %d: %w", l.block, err)
		}
		if last = kind; kind == blockEnd {
			return nil
		}
	}
}

func (l *loader) head() error {
	var head [headBytes]byte
	if n, err := io.ReadFull(l.r, head[:]); err != nil {
		return fmt.Errorf("read only %d bytes in the head, which has %d: %w", n, headBytes, err)
	}
	if magic := head[:len(snapshotMagic)]; string(magic) != snapshotMagic {
		return fmt.Errorf("the snapshot begins with %q, not %q: wrong shard type", magic, snapshotMagic)
	}
	const body = headBytes - 4
	if crc32.Checksum(head[:body], castagnoli) != binary.LittleEndian.Uint32(head[body:]) {
		return errors.New("the head has a wrong checksum")
	}
	format := binary.LittleEndian.Uint32(head[len(snapshotMagic):])
	if format > snapshotFormat {
		return fmt.Errorf("%w: the format is %d, known up to %d", ErrSnapshotNewer, format, snapshotFormat)
	}
	if format == 0 {
		return errors.New("the format is 0")
	}
	return nil
}

// next reads one block into payload.
func (l *loader) next() (blockKind, error) {
	l.block++
	var head [blockHeadBytes]byte
	if _, err := io.ReadFull(l.r, head[:]); err != nil {
		return 0, fmt.Errorf("the snapshot ends at block %d, before the end block: %w", l.block, err)
	}
	size := binary.LittleEndian.Uint32(head[1:])
	if size > maxBlock {
		return 0, fmt.Errorf("block %d: length %d; at most %d bytes are allowed", l.block, size, maxBlock)
	}
	body := make([]byte, size+4)
	if _, err := io.ReadFull(l.r, body); err != nil {
		return 0, fmt.Errorf("the snapshot ends within block %d: %w", l.block, err)
	}
	l.payload = body[:size]
	sum := crc32.Update(crc32.Checksum(head[:], castagnoli), castagnoli, l.payload)
	if sum != binary.LittleEndian.Uint32(body[size:]) {
		return 0, fmt.Errorf("block %d: wrong checksum", l.block)
	}
	return blockKind(head[0]), nil
}

func (l *loader) readBlock(kind blockKind, r *codec.Coder) error {
	in := r.Input()
	switch kind {
	case blockCounters:
		l.version = in.Number()
		l.lastNode = shard.NodeID(in.Number())
		l.level = level.Level(in.Byte())
		switch {
		case r.Sound() && l.level == 0:
			return errors.New("level 0")
		case l.level > level.Newest:
			return fmt.Errorf("%w: level %d; this build can follow up to level %d", ErrSnapshotNewer, l.level,
				level.Newest)
		}
		if l.answers.next = in.Number(); r.Sound() && l.answers.next == 0 {
			return errors.New("answer positions begin with 1")
		}
		l.clock.Term, l.clock.Now, l.clock.Base = in.Number(), in.Number(), in.Number()
		if l.clock.Base > l.clock.Now {
			return errors.New("the term begins after shard time")
		}
		return nil
	case blockRouting:
		l.routing.fields(r)
		if !r.Sound() {
			return r.Err()
		}
		return l.routing.check(l.version)
	case blockHosts:
		return readRecords(r, &l.hosts, "host", (*Host).fields, l.checkHost)
	case blockNodes:
		return readRecords(r, &l.byPath, "node", (*Node).fields, l.checkNode)
	case blockDropping:
		return readRecords(r, &l.dropping, "dropped node", (*Dropped).fields, l.checkDropped)
	case blockAnswers:
		return l.readAnswers(r)
	case blockTopology:
		return readPiece(&l.pieces.records, r)
	case blockPlan:
		return readPiece(&l.pieces.plan, r)
	case blockRights:
		return readPiece(&l.pieces.rights, r)
	case blockSeen:
		check := func(*HostObservation) error { return nil }
		return readRecords(r, &l.seen, "host observation", (*HostObservation).fields, check)
	default:
		return l.finish(r)
	}
}

// readRecords reads one block's records and adds them, in order, to the index.
func readRecords[K string | shard.NodeID | shard.HostID, V any](
	r *codec.Coder, x *index[K, V], name string, fields func(*V, *codec.Coder), check func(*V) error,
) error {
	for r.Left() > 0 {
		var v V
		fields(&v, r)
		err := r.Err()
		if n := len(x.entries); err == nil && n > 0 && x.key(&v) <= x.key(x.entries[n-1]) {
			err = errors.New("not in order")
		}
		if err == nil {
			err = check(&v)
		}
		if err != nil {
			return fmt.Errorf("%s %d: %w", name, len(x.entries), err)
		}
		x.entries = append(x.entries, &v)
	}
	return nil
}

// finish compares the counts in the end block with the content, and the content's parts with each other.
func (l *loader) finish(r *codec.Coder) error {
	type count struct {
		name string
		have int
	}
	counts := []count{
		{"hosts", len(l.hosts.entries)},
		{"nodes", len(l.byPath.entries)},
		{"dropped nodes", len(l.dropping.entries)},
		{"answers", len(l.answers.kept)},
	}
	for _, c := range counts {
		if n := r.Input().Number(); r.Sound() && n != uint64(c.have) {
			return fmt.Errorf("the end block counts %d %s, but the snapshot has %d", n, c.name, c.have)
		}
	}
	if r.Sound() {
		if err := l.readTopologyCounts(r); err != nil {
			return err
		}
	}
	if !r.Sound() {
		return r.Err()
	}
	if err := l.completeRights(); err != nil {
		return err
	}
	return l.complete()
}
