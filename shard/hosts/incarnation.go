package hosts

import (
	"encoding/hex"
	"fmt"
)

// Incarnation is drawn at random when a data directory is created. Zero is for a host from before incarnations were
// introduced, until the host boots.
type Incarnation [16]byte

// String formats the incarnation as tools show it: 32 hexadecimal digits.
func (i Incarnation) String() string { return hex.EncodeToString(i[:]) }

// MarshalText implements encoding.TextMarshaler.
func (i Incarnation) MarshalText() ([]byte, error) { return []byte(i.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler. It accepts only MarshalText's format.
func (i *Incarnation) UnmarshalText(text []byte) error {
	var read Incarnation
	if len(text) != 2*len(read) {
		return fmt.Errorf("hosts: %d letters, an incarnation has %d", len(text), 2*len(read))
	}
	if _, err := hex.Decode(read[:], text); err != nil {
		return fmt.Errorf("hosts: no incarnation: %w", err)
	}
	if read.String() != string(text) {
		return fmt.Errorf("hosts: an incarnation is written in small letters, not as %q", text)
	}
	*i = read
	return nil
}

// Start is one start of a host's process. The data directory counts the starts, durably. The draw is 64 random bits for
// the process, so two processes from copies of one directory differ.
type Start struct {
	Number uint64 `json:"number"`
	Draw   uint64 `json:"draw"`
}

// IsCopy reports whether a host at this start runs on an outdated copy of its data directory. newest is the newest
// known start with the same incarnation.
func (s Start) IsCopy(newest Start) bool {
	return s.Number < newest.Number || s.Number == newest.Number && s.Draw != newest.Draw
}
