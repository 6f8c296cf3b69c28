package wal

import "encoding/binary"

// image is a segment's content on disk.
type image struct {
	header
	path string
	seed uint32
	data []byte
}

// readImage reads a segment, and checks its header. memory is reused if it is large enough.
func readImage(disk FS, path string, number uint64, memory []byte) (*image, error) {
	data, err := ReadFile(disk, path, memory)
	if err != nil {
		return nil, err
	}
	h, ok := headerOf(data)
	if !ok || h.number != number {
		return nil, damagedAt(path, 0)
	}
	if int64(len(data)) < h.filled {
		return nil, damagedAt(path, int64(len(data)))
	}
	return &image{header: h, path: path, seed: h.seed(), data: data}, nil
}

// content is the result of reading a segment.
type content struct {
	records int
	end     int64  // end of the complete records
	sealed  bool   // the last complete record is a seal
	first   uint64 // the first needed segment, according to this segment
	// stale is the end of the last valid head after the end of the records: bytes behind a gap that were written, and
	// may be torn.
	stale int64
}

// empty reports whether a segment never had a record.
func (c content) empty() bool { return c.records == 0 && c.stale == 0 }

// read visits the owner's records in a segment. The first incomplete record ends the records. Writing ended there, or a
// power failure tore the record, unless a later head proves that everything up to there was durable: then the file is
// damaged.
func (i *image) read(visit Visit) (c content, err error) {
	c = content{end: firstRecord, first: i.first}
	for {
		h, data, ok := recordAt(i.data[min(c.end, int64(len(i.data))):], c.end, i.seed)
		if !ok {
			break
		}
		c.records++
		switch {
		case h.kind == kindFirst && len(data) == 8:
			c.first = max(c.first, binary.LittleEndian.Uint64(data))
		case h.kind <= MaxKind:
			at := Place{Segment: i.number, Offset: uint32(c.end), Bytes: uint32(h.bytes())}
			if err := visit(at, h.key, h.kind, data); err != nil {
				return c, err
			}
		}
		c.end += int64(h.bytes())
		if h.kind == kindSeal {
			c.sealed = true
			return c, nil
		}
	}
	durable := int64(0)
	for at := c.end; at+headBytes <= int64(len(i.data)); at += align {
		if h, ok := headAt(i.data[at:], at, i.seed); ok {
			durable = max(durable, int64(h.synced))
			c.stale = at + int64(h.bytes())
		}
	}
	if durable > c.end {
		return c, damagedAt(i.path, c.end)
	}
	return c, nil
}

// checkChain checks a segment's content against the next segment's content, nil for none.
func (i *image) checkChain(dir string, c content, next *content) error {
	switch {
	case c.sealed && next == nil:
		return missing(segmentName(dir, i.number+1))
	case !c.sealed && next != nil && !next.empty():
		return damagedAt(i.path, c.end) // a segment is written only after the previous segment is sealed
	default:
		return nil
	}
}
