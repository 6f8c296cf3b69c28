package hosts

import (
	"testing"

	"github.com/signalbox/signalbox/protocol/level"
)

// TestRenewedRecordsAreSound: records from random commands are migrated, saved and loaded, and continue with commands
// without violations.
func TestRenewedRecordsAreSound(t *testing.T) {
	for seed := range uint64(40) {
		r := newRandom(seed, noBug)
		for range 150 {
			if err := r.step(); err != nil {
				t.Fatal(err)
			}
		}
		before := r.Records.Clone()
		next, err := r.Renewed(r.at(), Renewal{Generation: Generation{Number: 3}, Cluster: "other",
			Data: []ShardID{1, 2, 3}, Jump: 1 << 40, First: InitialMember{Name: "fresh",
				Incarnation: Incarnation{200, byte(seed)}, Addresses: addresses("fresh"), Level: level.Newest}})
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if string(before.Save(nil)) != string(r.Records.Save(nil)) {
			t.Fatalf("seed %d: the old records have changed", seed)
		}
		if r.Records, err = Load(next.Save(nil)); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if next.Living() != 1 || next.Revision() <= before.Revision() || next.NextReplica() <= before.NextReplica() ||
			next.LastAudit() <= before.LastAudit() || len(next.Shards()) != 4 {
			t.Fatalf("seed %d: %+v", seed, next)
		}
		for range 100 {
			if err := r.step(); err != nil {
				t.Fatalf("seed %d, renewed: %v", seed, err)
			}
		}
	}
}
