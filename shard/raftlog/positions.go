package raftlog

import "encoding/binary"

// After each batch the engine's store writes how far the shard's log is committed, and syncs that, although nothing
// depends on it: Raft needs on the disk the entries, the term and the vote. A replica that forgets the position after a
// crash learns it again from its leader, or from the majority that elects it. Several hosts would spend half of their
// syncs on it. So a sync waits for the next one if all that it would bring to the disk are such positions.
//
// The disk always has a prefix of what was written. What the engine writes because of a position, such as that a
// snapshot is complete, comes after the position, so a sync of it includes the position.
//
// A term and a vote that were replaced never return: terms grow, and a replica votes once in a term. So those of a
// record that is too long to be read here need not be known: the next that is read differs from what was known before.
//
// A record is read here if it is one whole chunk (verify.go) with one or more values of that kind: sequence number (8
// bytes), number of values (4), then for each: 1, length of the key, key, length of the value, value. The key begins
// with 2 2 and is 20 bytes long; the value is 8, term, 16, vote, 24, position. All numbers but the first two are
// varints. A record of any other form is synced.
const (
	positionKeyBytes = 20
	// maxWaiting is how many syncs in a row may wait.
	maxWaiting = 8
	// maxJudged is up to which length what was written is read.
	maxJudged = 1 << 10
)

// positions knows the terms and votes of a store's replicas that are on the disk.
type positions struct {
	votes   map[[positionKeyBytes]byte]ballot
	waiting int
}

type ballot struct{ term, vote uint64 }

// canWait reports whether what was written since the last sync need not be on the disk yet.
func (p *positions) canWait(written []byte, file uint32) bool {
	if p.votes == nil {
		p.votes = make(map[[positionKeyBytes]byte]ballot)
	}
	wait := p.waiting < maxWaiting && len(written) > 0
	layout := logLayout(file)
	for len(written) > 0 {
		size, kind := layout.chunk(written)
		if size == 0 || kind != walFull {
			wait = false
			break
		}
		wait = p.onlyPositions(written[walHead:size]) && wait
		written = written[size:]
	}
	if wait {
		p.waiting++
	} else {
		p.waiting = 0
	}
	return wait
}

// onlyPositions reports whether a record holds only positions. It keeps terms and votes, and reports false where one is
// new.
func (p *positions) onlyPositions(record []byte) bool {
	const head = 12
	if len(record) < head {
		return false
	}
	values := binary.LittleEndian.Uint32(record[8:])
	r := fields{rest: record[head:]}
	same := true
	for range values {
		if r.byte() != 1 || r.varint() != positionKeyBytes {
			return false
		}
		key := r.bytes(positionKeyBytes)
		value := fields{rest: r.bytes(int(min(r.varint(), maxJudged)))}
		if r.bad || key[0] != 2 || key[1] != 2 {
			return false
		}
		var b ballot
		if value.byte() == 8 {
			b.term = value.varint()
		}
		if value.byte() == 16 {
			b.vote = value.varint()
		}
		if value.byte() != 24 || value.varint() == 0 || value.bad || len(value.rest) != 0 {
			return false
		}
		if id := [positionKeyBytes]byte(key); p.votes[id] != b {
			p.votes[id] = b
			same = false
		}
	}
	return same && !r.bad && len(r.rest) == 0
}

// fields reads the fields of a record. Once one is missing it is bad and reads zeros.
type fields struct {
	rest []byte
	bad  bool
}

func (f *fields) bytes(n int) []byte {
	if f.bad || n > len(f.rest) {
		f.bad = true
		return make([]byte, n)
	}
	taken := f.rest[:n]
	f.rest = f.rest[n:]
	return taken
}

func (f *fields) byte() byte { return f.bytes(1)[0] }

func (f *fields) varint() uint64 {
	v, n := binary.Uvarint(f.rest)
	if f.bad || n <= 0 {
		f.bad = true
		return 0
	}
	f.rest = f.rest[n:]
	return v
}
