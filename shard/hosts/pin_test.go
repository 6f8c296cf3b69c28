package hosts

import (
	"testing"

	"github.com/signalbox/signalbox/shard/internal/codec/codectest"
	table "github.com/signalbox/signalbox/shard/slots"
)

// TestBytesOfRecordsAreWhatTheyWere: the saved form of hosts, shards, tokens, the policy, the audit log and the orders
// to move slots. Package slots tests the form of the slot table.
func TestBytesOfRecordsAreWhatTheyWere(t *testing.T) {
	records := Records{slots: &table.Table{}}
	codectest.Check(t, "testdata/pins",
		codectest.Form{Name: "saved records", Of: &records, Unsaved: []string{"slots"},
			Write: func() []byte { return records.Save(nil) }})
}
