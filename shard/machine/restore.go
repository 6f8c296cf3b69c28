package machine

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"

	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/internal/arena"
	"github.com/signalbox/signalbox/shard/internal/assert"
	"github.com/signalbox/signalbox/shard/internal/codec"
	"github.com/signalbox/signalbox/shard/slots"
)

// ErrBadSnapshot is wrapped by errors about files that are damaged or not a snapshot.
var ErrBadSnapshot = errors.New("not a valid shard snapshot")

// BadSnapshot returns an error that wraps ErrBadSnapshot.
func BadSnapshot(format string, args ...any) error {
	return fmt.Errorf("shard: "+format+": %w", append(args, ErrBadSnapshot)...)
}

// Restore replaces the machine's content by a saved snapshot. After an error the machine is unchanged.
func (m *Machine) Restore(r io.Reader) error {
	fresh := m.core.empty()
	if err := fresh.read(bufio.NewReaderSize(r, saveBytes)); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.replace(fresh)
	return nil
}

// RestoreInPlace is like Restore but needs memory for one content only: it frees the old content first. Reads wait
// meanwhile, so no read sees a partial state. After an error the machine is empty.
func (m *Machine) RestoreInPlace(r io.Reader) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.replace(m.core.empty())
	fresh := m.core.empty()
	if err := fresh.read(bufio.NewReaderSize(r, saveBytes)); err != nil {
		return err
	}
	m.replace(fresh)
	return nil
}

// replace swaps in new content. Snapshots in progress end. The caller holds the lock.
func (m *Machine) replace(fresh *Core) {
	for _, sn := range m.core.Snapshots.list {
		sn.over = true
	}
	m.core = fresh
}

// empty returns empty content with the same settings.
func (co *Core) empty() *Core {
	return newCore(co.known, Options{
		Shard: uint64(co.class), Slots: shard.EverySlot(), History: co.History.limit, Bounds: co.bounds,
	})
}

// read fills an empty machine from a file.
func (co *Core) read(r io.Reader) error {
	start := make([]byte, len(snapshotMagic)+4)
	if _, err := io.ReadFull(r, start); err != nil {
		return cutShort(err, "in the first bytes")
	}
	if string(start[:len(snapshotMagic)]) != snapshotMagic {
		return BadSnapshot("the file begins with wrong bytes")
	}
	format := binary.LittleEndian.Uint32(start[len(snapshotMagic):])
	switch {
	case format > snapshotFormat:
		return fmt.Errorf("shard: snapshot format %d, known up to %d: %w", format, snapshotFormat,
			shard.ErrNewerFormat)
	case format == 0:
		return BadSnapshot("snapshot format 0")
	}
	blocks := blockReader{r: r}
	kind, payload, err := blocks.next()
	if err != nil {
		return err
	}
	if kind != blockHeader {
		return BadSnapshot("the first block has kind %d", kind)
	}
	rs := restorer{m: co}
	if err := rs.header(payload); err != nil {
		return err
	}
	var counts [phases]uint64
	at := phase(0)
	for {
		kind, payload, err := blocks.next()
		if err != nil {
			return err
		}
		switch {
		case kind == blockEnd:
			return rs.end(payload, counts)
		case kind == blockSlot && at == 0 && counts[at] == 0:
			if err := rs.content(payload); err != nil {
				return err
			}
			continue
		}
		p := phase(kind) - blockFirst
		if p < at || p >= phases {
			return BadSnapshot("a block with kind %d is misplaced", kind)
		}
		at = p
		n, err := rs.block(p, payload)
		counts[p] += n
		if err != nil {
			return err
		}
	}
}

func (re *restorer) header(payload []byte) error {
	m, r := re.m, codec.Input{Data: payload}
	m.level = level.Level(r.Byte())
	m.nextLevel = m.level
	r.Must(m.level != 0, "level 0")
	if m.level > level.Newest {
		return fmt.Errorf("shard: snapshot level %d; this build can follow up to level %d: %w", m.level,
			level.Newest, shard.ErrNewerFormat)
	}
	if err := m.slots.Load(r.Bytes()); err != nil && r.Sound() {
		return BadSnapshot("%v", err)
	}
	m.lastOrder, m.lastRevision = shard.OrderID(r.Number()), shard.Revision(r.Number())
	m.Sessions.last, m.Clock.Term = r.Number(), r.Number()
	n := r.Number()
	r.Must(n <= uint64(len(r.Data)), "more dropped nodes than bytes")
	for range n {
		if !r.Sound() {
			break
		}
		id := shard.NodeID(r.Number())
		m.Nodes.restored(id).Dropping = true
		m.Nodes.dropping = append(m.Nodes.dropping, id)
	}
	re.pending = readPending(&r)
	m.Nodes.readLimits(&r)
	re.bytes = r.Number()
	m.Clock.Now, m.Clock.Base = r.Number(), r.Number()
	r.Must(m.Clock.Base <= m.Clock.Now, "a term begins after shard time")
	m.group = readGroup(&r, m.Sessions.last)
	r.Must(len(r.Data) == 0, "bytes behind the last field")
	if !r.Sound() {
		return BadSnapshot("the header is wrong: %s", r.Bad())
	}
	return nil
}

// content reads a sealed or transferred slot's content.
func (re *restorer) content(payload []byte) error {
	content, err := slots.Parse(payload)
	if err != nil {
		return BadSnapshot("%v", err)
	}
	re.contents = append(re.contents, content)
	return nil
}

// readLimits reads the quotas for the shard and for nodes, sorted by node id.
func (no *Nodes) readLimits(r *codec.Input) {
	no.quota = newShardQuota(readLimits(r))
	const limitedMin = 1 + 1 + 1
	n := r.Number()
	r.Must(n <= uint64(len(r.Data))/limitedMin, "more nodes with quotas than bytes")
	last := shard.NodeID(0)
	for range n {
		id, limits := shard.NodeID(r.Number()), readLimits(r)
		if !r.Must(id > last && limits != (shard.Limits{}) && limits.Objects <= shard.MaxSemaphoresPerNode,
			"invalid node quotas") {
			return
		}
		last = id
		no.limit(no.restored(id), limits)
	}
}

func readLimits(r *codec.Input) shard.Limits {
	return shard.Limits{Objects: r.Number(), Bytes: r.Number()}
}

func readPending(r *codec.Input) (list []shard.PendingState) {
	const pendingMin = 8 + 1 + 1 + 1
	n := r.Number()
	r.Must(n <= uint64(len(r.Data))/pendingMin, "more pending entries than bytes")
	for range n {
		if !r.Sound() {
			break
		}
		list = append(list, shard.PendingState{
			Session: shard.SessionID(r.Uint64()), Node: shard.NodeID(r.Number()), Name: string(r.Bytes()),
			Deleting: r.Byte() == 1,
		})
	}
	return list
}

// block restores the records in a block.
func (re *restorer) block(p phase, payload []byte) (n uint64, err error) {
	for len(payload) > 0 {
		if len(payload) < 4 {
			return n, BadSnapshot("a record is cut short")
		}
		size := binary.LittleEndian.Uint32(payload)
		if uint64(size) > uint64(len(payload)-4) {
			return n, BadSnapshot("a record is longer than its block")
		}
		if err := re.record(p, payload[4:4+size]); err != nil {
			return n, err
		}
		payload = payload[4+size:]
		n++
	}
	return n, nil
}

// end checks that nothing is missing and inserts the holdings, oldest first.
func (re *restorer) end(payload []byte, counts [phases]uint64) error {
	r := codec.Input{Data: payload}
	for p := range phases {
		if n := r.Uint64(); n != counts[p] {
			return BadSnapshot("expected %d records in phase %d, found %d", n, p, counts[p])
		}
	}
	m := re.m
	if err := m.slots.SetContents(re.contents); err != nil {
		return BadSnapshot("%v", err)
	}
	if err := re.insertLinks(); err != nil {
		return err
	}
	if err := m.Pending.restore(re.pending); err != nil {
		return err
	}
	if err := m.linkAll(); err != nil {
		return err
	}
	return re.checkUsage()
}

// linkAll gives each object's kind the holdings, in a machine that has just been restored.
func (co *Core) linkAll() error {
	for h := arena.Handle(1); h < co.Objects.End(); h++ { // an empty machine has issued handles in order
		if err := co.kinds[co.Objects.At(h).Kind].Linked(co, h); err != nil {
			return err
		}
	}
	return nil
}

// insertLinks inserts the holdings that were read, oldest first.
func (re *restorer) insertLinks() error {
	m := re.m
	for _, at := range re.linksInOrder() {
		l := re.linkAt(at)
		o, s := m.Objects.At(l.Object), m.Sessions.At(l.Session)
		has := func(last arena.Handle) bool { return last != 0 && m.Holdings.At(last).Order == l.Order }
		switch {
		case l.Order == 0 || l.Order > m.lastOrder || has(o.lastHolding) || has(s.lastLink):
			return BadSnapshot("order id %d appears twice, or is above the last order id %d", l.Order, m.lastOrder)
		case m.Holdings.Find(o, l.Object, l.Session) != 0:
			return BadSnapshot("a session appears twice at object %q", m.Objects.Name(o))
		case m.Sessions.Node(s) != m.Objects.Node(o):
			return BadSnapshot("object %q has a session from a different node", m.Objects.Name(o))
		case l.Owner && o.FirstWaiter != 0:
			return BadSnapshot("object %q has an owner behind a waiter", m.Objects.Name(o))
		}
		h := m.Holdings.insert(l.Session, l.Object, l.Order)
		to := m.Holdings.At(h)
		to.Count, to.timeout, to.Number = l.Count, l.timeout, l.Number
		to.data, to.Owner, to.Since, to.State = l.data, l.Owner, l.Since, l.State
		m.Nodes.Charge(m.Objects.Node(o), m.Holdings.sizeOf(to)-shard.LinkBytes)
		if !l.Owner {
			m.Holdings.setDeadline(h, l.deadline)
			m.Holdings.countWaiter(l.Session, 1)
			if o.FirstWaiter == 0 {
				o.FirstWaiter = h
			}
		}
	}
	return nil
}

// linkPiece is the chunk size, in holdings, while holdings are read. A single growing slice would take twice the
// memory.
const linkPiece = 4096

func (re *restorer) linkAt(at uint32) *savedLink { return &re.links[at/linkPiece][at%linkPiece] }

// linksInOrder returns the indexes of the holdings in order-id order.
func (re *restorer) linksInOrder() []uint32 {
	n := 0
	for _, piece := range re.links {
		n += len(piece)
	}
	places := make([]uint32, n)
	for i := range places {
		places[i] = uint32(i)
	}
	slices.SortFunc(places, func(a, b uint32) int { return cmp.Compare(re.linkAt(a).Order, re.linkAt(b).Order) })
	return places
}

// checkUsage compares the sizes counted during the restore with the total saved by the old machine.
func (re *restorer) checkUsage() error {
	sum := uint64(0)
	for _, n := range re.m.Nodes.byID {
		sum += n.bytes
	}
	assert.That(sum == re.m.Nodes.bytes, "node sizes add up to the shard size")
	if re.m.Nodes.bytes != re.bytes {
		return BadSnapshot("the restored quota usage is %d bytes, but should be %d", re.m.Nodes.bytes, re.bytes)
	}
	return nil
}

// restored is like see, without effects, for a restore.
func (no *Nodes) restored(id shard.NodeID) *Node {
	n := no.byID[id]
	if n == nil {
		n = no.add(id)
	}
	return n
}

// blockReader reads blocks and verifies their checksums.
type blockReader struct {
	r   io.Reader
	buf []byte
}

func (b *blockReader) next() (kind byte, payload []byte, err error) {
	var head [5]byte
	if _, err := io.ReadFull(b.r, head[:]); err != nil {
		return 0, nil, cutShort(err, "before a block")
	}
	size := binary.LittleEndian.Uint32(head[1:])
	if size > maxBlock {
		return 0, nil, BadSnapshot("a block claims %d bytes", size)
	}
	b.buf = append(b.buf[:0], head[:]...)
	if b.buf, err = readMore(b.r, b.buf, int(size)+4); err != nil {
		return 0, nil, cutShort(err, "inside a block")
	}
	body := b.buf[:len(b.buf)-4]
	if crc32.Checksum(body, castagnoli) != binary.LittleEndian.Uint32(b.buf[len(body):]) {
		return 0, nil, BadSnapshot("a block with kind %d has a wrong checksum", head[0])
	}
	return head[0], body[len(head):], nil
}

// readMore appends n bytes from the reader. It reads in steps, so a wrong n does not allocate much more memory than the
// reader has data.
func readMore(r io.Reader, buf []byte, n int) ([]byte, error) {
	for n > 0 {
		step := min(n, saveBytes)
		from := len(buf)
		buf = slices.Grow(buf, step)[:from+step]
		if _, err := io.ReadFull(r, buf[from:]); err != nil {
			return buf[:from], err
		}
		n -= step
	}
	return buf, nil
}

func cutShort(err error, where string) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return BadSnapshot("the file ends %s", where)
	}
	return fmt.Errorf("shard: reading a snapshot: %w", err)
}
