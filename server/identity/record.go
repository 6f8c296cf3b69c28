package identity

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

const (
	// Format is the data directory version: this program reads and writes no other version. Format covers all files
	// in the directory. Formats 1 and 2 were written by development builds before release 0.1.0.
	Format = 3

	// temporarySuffix is appended to the name of a partially written record.
	temporarySuffix = ".new"

	maxRecordBytes = 1 << 20
)

// envelope is a record's file: the fields needed before a reader may trust the content, and the content.
type envelope struct {
	Format int `json:"format"`
	// SHA256 is the checksum of the content without white space.
	SHA256  string          `json:"sha256"`
	Content json.RawMessage `json:"content"`
}

// readRecord reads a record from a directory. The error is fs.ErrNotExist for a missing file, and ErrDamaged for an
// invalid file.
func readRecord(dir, name string, into any) error {
	file, err := os.Open(filepath.Join(dir, name))
	if err != nil {
		return err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxRecordBytes))
	if err != nil {
		return err
	}
	return decode(text, into)
}

// decode decodes a record. The format is checked first, because this program cannot interpret other formats.
func decode(text []byte, into any) error {
	var e envelope
	if err := json.Unmarshal(text, &e); err != nil {
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	switch {
	case e.Format > Format:
		return fmt.Errorf("%w: format %d is newer than the supported format %d; use the version that wrote the "+
			"file, or a newer version", ErrNewer, e.Format, Format)
	case e.Format < 1:
		return fmt.Errorf("%w: the format is missing", ErrDamaged)
	case e.Format < Format:
		return fmt.Errorf("%w: format %d cannot be converted to format %d; nothing was changed: use the build "+
			"that wrote the directory, or move the directory away and start empty", ErrEarlier, e.Format, Format)
	}
	sum, err := checksum(e.Content)
	if err != nil || sum != e.SHA256 {
		return fmt.Errorf("%w: wrong checksum", ErrDamaged)
	}
	if err := json.Unmarshal(e.Content, into); err != nil {
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return nil
}

func encode(content any) ([]byte, error) {
	body, err := json.Marshal(content)
	if err != nil {
		return nil, err
	}
	sum, err := checksum(body)
	if err != nil {
		return nil, err
	}
	text, err := json.MarshalIndent(envelope{Format: Format, SHA256: sum, Content: body}, "", "  ")
	if err != nil {
		return nil, err
	}
	return append(text, '\n'), nil
}

// checksum returns the checksum of JSON without white space, so that the file may be indented.
func checksum(body []byte) (string, error) {
	var compact bytes.Buffer
	if err := json.Compact(&compact, body); err != nil {
		return "", err
	}
	sum := sha256.Sum256(compact.Bytes())
	return hex.EncodeToString(sum[:]), nil
}

// writeRecord writes a record to a directory. After writeRecord returns nil, the record survives a power failure;
// before that, the directory has the old record or none.
func writeRecord(dir, name string, content any) error {
	text, err := encode(content)
	if err != nil {
		return err
	}
	return writeWhole(dir, name, text, 0o640)
}

// syncDirectory makes a directory's file names survive a power failure.
func syncDirectory(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
