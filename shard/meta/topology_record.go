package meta

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/signalbox/signalbox/shard/access"
	"github.com/signalbox/signalbox/shard/governor"
	"github.com/signalbox/signalbox/shard/hosts"
	"github.com/signalbox/signalbox/shard/internal/codec"
	"github.com/signalbox/signalbox/shard/plan"
)

// The topology's part in a snapshot. Records and plan have their own encodings, which are split into blocks.

// maxPieces is the maximum size of the encoded records or plan, in bytes: a reader holds it in memory.
const maxPieces = 64 << 20

func (t *topology) save(b *blockWriter) {
	if t == nil {
		return
	}
	savePieces(b, blockTopology, t.records.Save(nil))
	savePieces(b, blockPlan, t.plan.Append(nil))
	saveRecords(b, blockSeen, t.seen.entries, (*HostObservation).fields)
}

func savePieces(b *blockWriter, kind blockKind, src []byte) {
	assert(len(src) > 0 && len(src) <= maxPieces, "written records and plans can be read back")
	for len(src) > 0 && b.err == nil {
		n := min(len(src), blockTarget)
		b.open(kind)
		b.buf = append(b.buf, src[:n]...)
		b.close()
		src = src[n:]
	}
}

// appendCounts counts the parts that save writes, all 0 before the hosts are bootstrapped.
func (t *topology) appendCounts(dst []byte) []byte {
	if t == nil {
		return append(dst, 0)
	}
	return binary.AppendUvarint(append(dst, 1), uint64(len(t.seen.entries)))
}

// appendDigested appends everything that replicas must agree on.
func (t *topology) appendDigested(dst []byte) []byte {
	if t == nil {
		return dst
	}
	dst = t.records.Save(dst)
	dst = t.plan.Append(dst)
	for _, s := range t.seen.entries {
		dst = codec.Save(dst, s.fields)
	}
	return dst
}

func (h *HostObservation) fields(c *codec.Coder) {
	codec.Uint(c, &h.ID)
	codec.Uint(c, &h.Version)
}

// pieces are the encodings that span several blocks, as far as they were read.
type pieces struct{ records, plan, rights []byte }

// readPiece reads one piece of an encoding.
func readPiece(dst *[]byte, r *codec.Coder) error {
	piece := r.Input().Data
	r.Input().Data = nil
	if len(piece) == 0 || len(*dst)+len(piece) > maxPieces {
		return fmt.Errorf("a piece with %d bytes after %d bytes; at most %d bytes in total are allowed, and no "+
			"empty piece", len(piece), len(*dst), maxPieces)
	}
	*dst = append(*dst, piece...)
	return nil
}

// readTopologyCounts reads the result of appendCounts, and builds the topology from the pieces.
func (l *loader) readTopologyCounts(r *codec.Coder) error {
	var bootstrapped bool
	if r.Flag(&bootstrapped); !r.Sound() {
		return r.Err()
	}
	if bootstrapped != (len(l.pieces.records) > 0) || bootstrapped != (len(l.pieces.plan) > 0) ||
		!bootstrapped && len(l.seen.entries) > 0 {
		return errors.New("host records, plan and host observations do not match the bootstrap flag")
	}
	if !bootstrapped {
		return nil
	}
	if n := r.Input().Number(); r.Sound() && n != uint64(len(l.seen.entries)) {
		return fmt.Errorf("the end block counts %d host observations, but the snapshot has %d", n,
			len(l.seen.entries))
	}
	return l.completeTopology()
}

// completeTopology builds the topology from the pieces, and performs the checks that need the whole topology.
func (l *loader) completeTopology() error {
	records, err := hosts.Load(l.pieces.records)
	if err != nil {
		return err
	}
	steps, err := plan.Read(planConfig, l.pieces.plan)
	if err != nil {
		return err
	}
	t := &topology{records: records, plan: steps, seen: l.seen}
	for _, s := range t.seen.entries {
		if !t.counts(records.Host(s.ID)) || s.Version >= l.version {
			return fmt.Errorf("host %d does not count, or has seen the future version %d", s.ID, s.Version)
		}
	}
	if records.Cluster() != l.routing.Cluster || len(records.Hosts()) == 0 || len(l.hosts.entries) > 0 {
		return errors.New("the records belong to a different cluster, or the snapshot also has registered hosts")
	}
	if list := t.dataShards(); !slices.Equal(list, l.routing.Shards) {
		return fmt.Errorf("the records have the data shards %d, but the slot table has %d", list, l.routing.Shards)
	}
	l.topology = t
	return nil
}

// canonical returns the records and the plan as they are after saving and loading, so equal records and plans are equal
// in every detail.
func (t *topology) canonical() (*hosts.Records, *plan.Plan[governor.Action]) {
	if t == nil {
		return nil, nil
	}
	records, err := hosts.Load(t.records.Save(nil))
	assert(err == nil, "saved records can be loaded")
	steps, err := plan.Read(planConfig, t.plan.Append(nil))
	assert(err == nil, "a saved plan can be loaded")
	return records, steps
}

// completeRights makes the rights from the pieces.
func (l *loader) completeRights() (err error) {
	if len(l.pieces.rights) > 0 {
		l.rights, err = access.Load(l.pieces.rights)
	}
	return err
}

// canonicalRights returns the rights as they are after saving and loading; nil before the first change to rights.
func canonicalRights(b *access.Book) *access.Book {
	if b.Revision() == 0 {
		return nil
	}
	loaded, err := access.Load(b.Save(nil))
	assert(err == nil, "saved rights can be loaded")
	return loaded
}
