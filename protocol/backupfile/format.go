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
//	records  kind (1 byte), length (4 bytes), that many bytes, CRC-32C of all that (4 bytes)
//
// The first record is the header. A section is a record with what it is of, records with its bytes, and one with its
// length and SHA-256, or one that says that it was given up: then it counts for nothing. The last record seals the
// file: it has the number of sections and the SHA-256 of all bytes before it. Headers are JSON, and a reader ignores
// fields that it does not know.
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
	// ErrDamaged: the file is not what was written.
	ErrDamaged = errors.New("the backup is damaged")
	// ErrNewer: a newer version has written it.
	ErrNewer = errors.New("the backup is of a newer version")
	// ErrIncomplete: a shard is missing.
	ErrIncomplete = errors.New("the backup is not of all shards")
	// ErrGivenUp ends the bytes of a section that was given up, because the host that it came from was lost. Another
	// one of the same shard follows.
	ErrGivenUp = errors.New("the section was given up")
)

func damaged(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrDamaged}, args...)...)
}

// Header is what a backup is of.
type Header struct {
	// Cluster is its id, ClusterName the name that it was made with, empty for none.
	Cluster     string     `json:"cluster"`
	ClusterName string     `json:"cluster_name,omitempty"`
	Generation  Generation `json:"generation"`
	// Begun is when the first state was fixed, by the clock of who wrote the file.
	Begun time.Time `json:"begun"`
	// Shards is the number of data shards.
	Shards int         `json:"shards"`
	Level  level.Level `json:"level"`
	// Version is that of the program that wrote it.
	Version string `json:"version"`
	// Host is the name of the host whose directory it was read from, after the cluster was lost; empty where the states
	// come from the leaders of a cluster that ran.
	Host string `json:"host,omitempty"`
}

// Generation is that of a cluster, all zero in one that was made of no other.
type Generation [16]byte

// MarshalText implements encoding.TextMarshaler.
func (g Generation) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, g[:]), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (g *Generation) UnmarshalText(text []byte) error {
	if hex.DecodedLen(len(text)) != len(g) {
		return fmt.Errorf("backup: a generation has %d letters, not %d", 2*len(g), len(text))
	}
	_, err := hex.Decode(g[:], text)
	return err
}

// Section says what a state is of.
type Section struct {
	// Shard is 0 for the meta shard.
	Shard uint64 `json:"shard"`
	// Term and Index are of the last entry of the log that is in the state.
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

// sectionEnd is what a section has come to.
type sectionEnd struct {
	Length uint64 `json:"length"`
	SHA256 string `json:"sha256"`
}

// seal is what a file has come to.
type seal struct {
	Sections int    `json:"sections"`
	SHA256   string `json:"sha256"`
}
