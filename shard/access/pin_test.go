package access

import (
	"testing"

	"github.com/signalbox/signalbox/shard/internal/codec/codectest"
)

// TestBytesOfABookAreWhatTheyWere: the saved form of roles and principals.
func TestBytesOfABookAreWhatTheyWere(t *testing.T) {
	var book, certificates Book
	codectest.Check(t, "testdata/pins",
		codectest.Form{Name: "saved book", Of: &book, Write: func() []byte { return book.Save(nil) },
			Unsaved: []string{"tokens", "bytes"},
			Adjust: func() { // only tokens have a secret
				for _, r := range book.records {
					r.Kind = Token
				}
			}},
		codectest.Form{Name: "saved book of certificates", Of: &certificates,
			Write:   func() []byte { return certificates.Save(nil) },
			Unsaved: []string{"tokens", "bytes", "records.Hash", "records.Expires"}})
}
