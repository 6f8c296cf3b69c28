package backupfile

import (
	"bufio"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
)

// Reader reads a backup. It is not safe for concurrent use.
type Reader struct {
	// Header describes the backup.
	Header Header

	in       *bufio.Reader
	sum      hash.Hash // over the bytes before the last record
	last     []byte    // the last record, which is added to the sum when the next record is read
	sections int
	at       Section // the section being read
	inside   bool
	length   uint64
	content  hash.Hash
	piece    []byte // unread section bytes
}

// NewReader reads a file's beginning.
func NewReader(r io.Reader) (*Reader, error) {
	b := &Reader{in: bufio.NewReaderSize(r, pieceBytes), sum: sha256.New()}
	start := make([]byte, len(magic)+4)
	if _, err := io.ReadFull(b.in, start); err != nil || string(start[:len(magic)]) != magic {
		return nil, damaged("not a backup file")
	}
	if f := binary.LittleEndian.Uint32(start[len(magic):]); f != format {
		if f > format {
			return nil, fmt.Errorf("%w: format %d is newer than the supported format %d", ErrNewer, f,
				format)
		}
		return nil, damaged("the format is missing")
	}
	b.sum.Write(start)
	if err := b.header(recordHeader, &b.Header); err != nil {
		return nil, fmt.Errorf("invalid header: %w", err)
	}
	return b, nil
}

// record reads a record.
func (r *Reader) record() (kind byte, payload []byte, err error) {
	r.sum.Write(r.last)
	r.last = r.last[:0]
	var head [recordHead]byte
	if _, err := io.ReadFull(r.in, head[:]); err != nil {
		return 0, nil, cut(err)
	}
	size := binary.LittleEndian.Uint32(head[1:])
	if size > maxRecord {
		return 0, nil, damaged("a record claims %d bytes", size)
	}
	r.last = append(append(r.last, head[:]...), make([]byte, size+4)...)
	if _, err := io.ReadFull(r.in, r.last[recordHead:]); err != nil {
		return 0, nil, cut(err)
	}
	body := r.last[:recordHead+size]
	if crc32.Checksum(body, castagnoli) != binary.LittleEndian.Uint32(r.last[len(body):]) {
		return 0, nil, damaged("a checksum is wrong")
	}
	return head[0], body[recordHead:], nil
}

func cut(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return damaged("truncated file")
	}
	return err
}

// header reads a JSON record with the given kind.
func (r *Reader) header(want byte, into any) error {
	kind, payload, err := r.record()
	if err != nil {
		return err
	}
	return decode(kind, want, payload, into)
}

func decode(kind, want byte, payload []byte, into any) error {
	if kind != want {
		return damaged("found a record of kind %q instead of kind %q", kind, want)
	}
	if err := json.Unmarshal(payload, into); err != nil {
		return damaged("cannot decode a record: %v", err)
	}
	return nil
}

// Next advances to the next section. The caller then reads the section's bytes from the reader until io.EOF, or
// ErrGivenUp. After the last section Next checks the seal and returns io.EOF. Next first reads and checks a section's
// unread rest.
func (r *Reader) Next() (Section, error) {
	if r.inside {
		if _, err := io.Copy(io.Discard, r); err != nil && !errors.Is(err, ErrGivenUp) {
			return Section{}, err
		}
	}
	kind, payload, err := r.record()
	switch {
	case err != nil:
		err = fmt.Errorf("after %s: %w", r.place(), err)
	case kind == recordSeal:
		if err = r.checkSeal(payload); err == nil {
			return Section{}, io.EOF
		}
	default:
		r.at = Section{}
		err = decode(kind, recordSection, payload, &r.at)
	}
	if err != nil {
		return Section{}, err
	}
	r.inside, r.length, r.content = true, 0, sha256.New()
	return r.at, nil
}

// place names the part of the file that was read last.
func (r *Reader) place() string {
	if r.sections == 0 {
		return "the header"
	}
	return r.at.String()
}

func (r *Reader) checkSeal(payload []byte) error {
	sum := hex.EncodeToString(r.sum.Sum(nil))
	var s seal
	if err := decode(recordSeal, recordSeal, payload, &s); err != nil {
		return fmt.Errorf("invalid seal: %w", err)
	}
	if s.Sections != r.sections || s.SHA256 != sum {
		return fmt.Errorf("invalid seal: %w", damaged("the seal belongs to another file"))
	}
	if _, err := r.in.ReadByte(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("invalid seal: %w", damaged("bytes follow the seal"))
	}
	return nil
}

// Read implements io.Reader, for the section's bytes.
func (r *Reader) Read(p []byte) (int, error) {
	for len(r.piece) == 0 {
		if !r.inside {
			return 0, io.EOF
		}
		if err := r.fill(); err != nil {
			return 0, fmt.Errorf("%s: %w", r.at, err)
		}
	}
	n := copy(p, r.piece)
	r.piece = r.piece[n:]
	return n, nil
}

// fill reads the next piece of the section, or its end.
func (r *Reader) fill() error {
	kind, payload, err := r.record()
	if err != nil {
		return err
	}
	if kind == recordBytes {
		r.content.Write(payload)
		r.length += uint64(len(payload))
		r.piece = payload
		return nil
	}
	if kind == recordGivenUp {
		r.inside = false
		return ErrGivenUp
	}
	var end sectionEnd
	if err := decode(kind, recordEnd, payload, &end); err != nil {
		return err
	}
	if end.Length != r.length || end.SHA256 != hex.EncodeToString(r.content.Sum(nil)) {
		return damaged("wrong checksum")
	}
	r.inside = false
	r.sections++
	return nil
}
