package backupfile

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"hash"
	"hash/crc32"
	"io"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Writer writes a backup. It is not safe for concurrent use.
type Writer struct {
	w        io.Writer
	sum      hash.Hash // of everything written
	buf      []byte
	sections int
	open     *SectionWriter
	err      error
}

// NewWriter begins a file.
func NewWriter(w io.Writer, h Header) (*Writer, error) {
	out := &Writer{w: w, sum: sha256.New()}
	out.write(binary.LittleEndian.AppendUint32([]byte(magic), format))
	out.header(recordHeader, h)
	return out, out.err
}

func (w *Writer) write(p []byte) {
	if w.err == nil {
		w.sum.Write(p)
		_, w.err = w.w.Write(p)
	}
}

func (w *Writer) record(kind byte, payload []byte) {
	w.buf = append(w.buf[:0], kind)
	w.buf = binary.LittleEndian.AppendUint32(w.buf, uint32(len(payload)))
	w.buf = append(w.buf, payload...)
	w.buf = binary.LittleEndian.AppendUint32(w.buf, crc32.Checksum(w.buf, castagnoli))
	w.write(w.buf)
}

func (w *Writer) header(kind byte, v any) {
	text, err := json.Marshal(v)
	if err != nil {
		w.err = errors.Join(w.err, err)
		return
	}
	w.record(kind, text)
}

// Section begins a section; the caller writes its state to the result. The section must be closed before the next
// section begins.
func (w *Writer) Section(s Section) (*SectionWriter, error) {
	if w.open != nil {
		return nil, errors.New("a section is open")
	}
	w.header(recordSection, s)
	w.open = &SectionWriter{w: w, sum: sha256.New()}
	return w.open, w.err
}

// Close seals the file. A file without a seal is not a backup.
func (w *Writer) Close() error {
	if w.open != nil {
		return errors.New("a section is open")
	}
	w.header(recordSeal, seal{w.sections, hex.EncodeToString(w.sum.Sum(nil))})
	return w.err
}

// SectionWriter writes a section's bytes, in pieces. Close or GiveUp ends the section.
type SectionWriter struct {
	w      *Writer
	sum    hash.Hash
	length uint64
	piece  []byte
}

// Write implements io.Writer.
func (s *SectionWriter) Write(p []byte) (int, error) {
	s.sum.Write(p)
	s.length += uint64(len(p))
	for rest := p; len(rest) > 0 && s.w.err == nil; {
		n := min(len(rest), pieceBytes-len(s.piece))
		s.piece, rest = append(s.piece, rest[:n]...), rest[n:]
		if len(s.piece) == pieceBytes {
			s.flush()
		}
	}
	return len(p), s.w.err
}

func (s *SectionWriter) flush() {
	if len(s.piece) > 0 {
		s.w.record(recordBytes, s.piece)
		s.piece = s.piece[:0]
	}
}

// Close implements io.Closer.
func (s *SectionWriter) Close() error {
	if s.w.open != s {
		return io.ErrClosedPipe
	}
	s.flush()
	s.w.header(recordEnd, sectionEnd{s.length, hex.EncodeToString(s.sum.Sum(nil))})
	s.w.sections++
	s.w.open = nil
	return s.w.err
}

// GiveUp ends a section after its source was lost. The section's bytes are ignored, and a new section for the shard may
// follow.
func (s *SectionWriter) GiveUp() error {
	if s.w.open != s {
		return io.ErrClosedPipe
	}
	s.w.record(recordGivenUp, nil)
	s.w.open = nil
	return s.w.err
}
