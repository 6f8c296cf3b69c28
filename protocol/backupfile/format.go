package backupfile

import (
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/signalbox/signalbox/protocol/level"
)

// The file, all numbers of fixed size little endian:
//
//	magic    16 bytes
//	format   4 bytes
//	records  kind (1 byte), length (4 bytes), the bytes, CRC-32C of the record up to here (4 bytes)
//
// The first record is the header. A section is a record with the shard of the section, records with the bytes, and a
// record with length and SHA-256. In the place of the last, a record may say that the section was given up: such a
// section counts for nothing. The last record seals the file with the number of sections and the SHA-256 of all bytes
// before the seal. Headers are JSON, and a reader ignores unknown fields.
const (
	magic  = "signalbox backup"
	format = 1

	recordHeader  = 'H'
	recordSection = 'S'
	recordBytes   = 'B'
	recordEnd     = 'E' // of a section
	recordGivenUp = 'X' // in place of the end
	recordSeal    = 'Z'

	// pieceBytes is how many bytes of a section are in a record, and maxRecord the longest record.
	pieceBytes = 256 << 10
	maxRecord  = 1 << 20
	recordHead = 1 + 4
)

// Why a file is refused.
var (
	// ErrDamaged: the file is not as it was written.
	ErrDamaged = errors.New("the backup is damaged")
	// ErrNewer: a newer version has written the file.
	ErrNewer = errors.New("the backup is of a newer version")
	// ErrIncomplete: a shard is missing.
	ErrIncomplete = errors.New("the backup is not of all shards")
	// ErrGivenUp ends the bytes of a section that was given up, because the host that sent the state was lost. A new
	// section of the shard follows.
	ErrGivenUp = errors.New("the section was given up")
)

func damaged(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrDamaged}, args...)...)
}

// Header describes the cluster and the time of a backup.
type Header struct {
	// Cluster is the id of the cluster, ClusterName its name, empty for none.
	Cluster     string     `json:"cluster"`
	ClusterName string     `json:"cluster_name,omitempty"`
	Generation  Generation `json:"generation"`
	// Begun is when the first state was fixed, by the clock of the writer.
	Begun time.Time `json:"begun"`
	// Shards is the number of data shards.
	Shards int         `json:"shards"`
	Level  level.Level `json:"level"`
	// Version is the version of the program that wrote the file.
	Version string `json:"version"`
	// Host is the name of the host whose directory the states were read from, after the loss of the cluster; empty for
	// states from the leaders of a running cluster.
	Host string `json:"host,omitempty"`
}

// Generation is the generation of a cluster, all zero for a cluster that was not made from an older cluster.
type Generation [16]byte

// MarshalText implements encoding.TextMarshaler.
func (g Generation) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, g[:]), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (g *Generation) UnmarshalText(text []byte) error {
	if hex.DecodedLen(len(text)) != len(g) {
		return fmt.Errorf("a generation has %d letters, not %d", 2*len(g), len(text))
	}
	_, err := hex.Decode(g[:], text)
	return err
}

// Section names the shard of a state, and the place of the state in the shard's log.
type Section struct {
	// Shard is 0 for the meta shard.
	Shard uint64 `json:"shard"`
	// Term and Index are of the last log entry in the state.
	Term  uint64 `json:"term"`
	Index uint64 `json:"index"`
}

// String names the section.
func (s Section) String() string {
	if s.Shard == 0 {
		return "the section of the meta shard"
	}
	return fmt.Sprintf("the section of shard %d", s.Shard)
}

// sectionEnd is the length and the sum of a section.
type sectionEnd struct {
	Length uint64 `json:"length"`
	SHA256 string `json:"sha256"`
}

// seal is the number of sections and the sum of a file.
type seal struct {
	Sections int    `json:"sections"`
	SHA256   string `json:"sha256"`
}
