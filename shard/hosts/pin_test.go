package hosts

import (
	"testing"

	"github.com/signalbox/signalbox/shard/internal/codec/codectest"
)

// TestBytesOfRecordsAreWhatTheyWere: the saved form of hosts, shards, tokens, the policy and the audit log.
func TestBytesOfRecordsAreWhatTheyWere(t *testing.T) {
	var records, spread, groups, weights Records
	ofWeights := []string{"policy.Tier", "hosts.Weighs"}
	ofGroups := append([]string{"shards.Group", "shards.Empty", "shards.Counted", "shards.CountedAt",
		"shards.Bound", "shards.First", "shards.Ordered", "shards.Fence", "shards.Waits", "shards.Overlap",
		"hosts.Lost"}, ofWeights...)
	codectest.Check(t, "testdata/pins",
		codectest.Form{Name: "saved records", Of: &records, Later: append([]string{"policy.Replicas"}, ofGroups...),
			Write: func() []byte { return records.Save(nil) }},
		codectest.Form{Name: "saved records of shards on some hosts", Of: &spread, Later: ofGroups,
			Write: func() []byte { return spread.Save(nil) }},
		codectest.Form{Name: "saved records of groups of shards", Of: &groups, Later: ofWeights,
			Write: func() []byte { return groups.Save(nil) }},
		codectest.Form{Name: "saved records of weights of hosts", Of: &weights,
			Write: func() []byte { return weights.Save(nil) }})
}
