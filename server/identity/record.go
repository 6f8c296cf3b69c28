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
	// Format is the version of the data directory: this program writes and reads no other version. Format stands for
	// all files of the directory. Formats 1 and 2 were written by development builds before release 0.1.0.
	Format = 3

	// temporarySuffix is behind the name of a half-written record.
	temporarySuffix = ".new"

	maxRecordBytes = 1 << 20
)

// envelope is the file of a record: the facts needed before a reader may trust the content, and the content.
type envelope struct {
	Format int `json:"format"`
	// SHA256 is the sum of the content without its white space.
	SHA256  string          `json:"sha256"`
	Content json.RawMessage `json:"content"`
}

// readRecord reads a record of a directory. A missing file is fs.ErrNotExist, an untrustworthy file ErrDamaged.
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

// decode reads the text of a record. The format is checked first: this program cannot know how a different format is
// to be read.
func decode(text []byte, into any) error {
	var e envelope
	if err := json.Unmarshal(text, &e); err != nil {
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	switch {
	case e.Format > Format:
		return fmt.Errorf("%w: it has format %d, this program knows formats up to %d; "+
			"use the version that wrote it, or a newer one", ErrNewer, e.Format, Format)
	case e.Format < 1:
		return fmt.Errorf("%w: it has no format", ErrDamaged)
	case e.Format < Format:
		return fmt.Errorf("%w: it has format %d, this version has format %d, and there is no converter; "+
			"nothing in it was changed: use the build that wrote it, or move the directory away and start with an "+
			"empty one", ErrEarlier, e.Format, Format)
	}
	sum, err := checksum(e.Content)
	if err != nil || sum != e.SHA256 {
		return fmt.Errorf("%w: its checksum is not that of its content", ErrDamaged)
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

// checksum is the sum of JSON without its white space, so the file may be indented for people.
func checksum(body []byte) (string, error) {
	var compact bytes.Buffer
	if err := json.Compact(&compact, body); err != nil {
		return "", err
	}
	sum := sha256.Sum256(compact.Bytes())
	return hex.EncodeToString(sum[:]), nil
}

// writeRecord puts a record into a directory: when writeRecord returns nil, the record outlives a power failure;
// before, the directory has the old record or none.
func writeRecord(dir, name string, content any) error {
	text, err := encode(content)
	if err != nil {
		return err
	}
	return writeWhole(dir, name, text, 0o640)
}

// syncDirectory makes the names in a directory outlive a power failure.
func syncDirectory(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
