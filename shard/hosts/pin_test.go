package hosts

import (
	"testing"

	"github.com/signalbox/signalbox/shard/internal/form/formtest"
)

// TestBytesOfRecordsAreWhatTheyWere: hosts, shards, tokens, the policy and the audit history, as they are saved.
func TestBytesOfRecordsAreWhatTheyWere(t *testing.T) {
	var records, spread Records
	formtest.Check(t, "testdata/pins",
		formtest.Form{Name: "saved records", Of: &records, Later: []string{"policy.Replicas"},
			Write: func() []byte { return records.Save(nil) }},
		formtest.Form{Name: "saved records of shards on some hosts", Of: &spread,
			Write: func() []byte { return spread.Save(nil) }})
}
