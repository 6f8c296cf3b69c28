package backupfile

import (
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/signalbox/signalbox/protocol/level"
)

// The file format, with all fixed-size numbers little endian:
//
//	magic    16 bytes
//	format   4 bytes
//	records  kind (1 byte), length (4 bytes), the bytes, CRC-32C of the record up to here (4 bytes)
//
// The first record is the header. A section is a record with its shard, records with the bytes, and a record with
// length and SHA-256. If the section was given up, a different record replaces the last one: such a section is ignored.
// The file's last record is a seal with the number of sections and the SHA-256 of all earlier bytes. Headers are JSON,
// and a reader ignores unknown fields.
const (
	magic  = "signalbox backup"
	format = 1

	recordHeader  = 'H'
	recordSection = 'S'
	recordBytes   = 'B'
	recordEnd     = 'E' // end of a section
	recordGivenUp = 'X' // replaces the end of a section that was given up
	recordSeal    = 'Z'

	// pieceBytes is how many section bytes are in a record, and maxRecord the maximum record length.
	pieceBytes = 256 << 10
	maxRecord  = 1 << 20
	recordHead = 1 + 4
)

// Reasons for refusing a file.
var (
	// ErrDamaged: the file is not as it was written.
	ErrDamaged = errors.New("the backup is damaged")
	// ErrNewer: a newer version has written the file.
	ErrNewer = errors.New("the backup was written by a newer version")
	// ErrIncomplete: a shard is missing.
	ErrIncomplete = errors.New("the backup is incomplete")
	// ErrGivenUp ends the bytes of a section that was given up, because the host that sent the state was lost. A new
	// section for the same shard follows.
	ErrGivenUp = errors.New("the section was abandoned")
)

func damaged(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrDamaged}, args...)...)
}

// Header describes the cluster and the backup's time.
type Header struct {
	// Cluster is the cluster id, ClusterName its name, empty for none.
	Cluster     string     `json:"cluster"`
	ClusterName string     `json:"cluster_name,omitempty"`
	Generation  Generation `json:"generation"`
	// Begun is when the first state was fixed, by the writer's clock.
	Begun time.Time `json:"begun"`
	// Shards is the number of data shards.
	Shards int         `json:"shards"`
	Level  level.Level `json:"level"`
	// Version is the program version that wrote the file.
	Version string `json:"version"`
	// Host is the name of the host whose directory the states were read from, after the cluster was lost; empty if the
	// states came from a running cluster's leaders.
	Host string `json:"host,omitempty"`
}

// Generation is a cluster's generation, all zero unless the cluster was created from an older cluster.
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

// Section names a state's shard, and the state's position in the shard's log.
type Section struct {
	// Shard is 0 for the meta shard.
	Shard uint64 `json:"shard"`
	// Term and Index belong to the last log entry in the state.
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

// sectionEnd is a section's length and checksum.
type sectionEnd struct {
	Length uint64 `json:"length"`
	SHA256 string `json:"sha256"`
}

// seal is a file's section count and checksum.
type seal struct {
	Sections int    `json:"sections"`
	SHA256   string `json:"sha256"`
}
