package raftlog

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/lni/vfs"
)

func TestRecordsOfReplicasAreReadAsTheyWereWritten(t *testing.T) {
	dir := t.TempDir()
	r, err := loadReplicas(vfs.Default, dir, false)
	if err != nil {
		t.Fatal(err)
	}
	want := map[uint64]replicaRecord{
		0: {Replica: 1030, Joined: true}, 3: {Discarded: []uint64{2}},
		7: {Replica: 1031, Joined: true, Discarded: []uint64{2, 1029}},
	}
	for shardID, record := range want {
		if err := r.set(shardID, record); err != nil {
			t.Fatal(err)
		}
	}
	again, err := loadReplicas(vfs.Default, dir, true)
	if err != nil || !reflect.DeepEqual(again.byShard, want) {
		t.Errorf("read %v, %v", again, err)
	}
}

// TestDamagedRecordsOfReplicasAreRefused flips each bit, and truncates the file everywhere.
func TestDamagedRecordsOfReplicasAreRefused(t *testing.T) {
	dir := t.TempDir()
	r, err := loadReplicas(vfs.Default, dir, false)
	if err == nil {
		err = r.set(7, replicaRecord{Replica: 1031, Joined: true})
	}
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, replicasFile)
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	check := func(what string, bad []byte) {
		if err := os.WriteFile(path, bad, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := loadReplicas(vfs.Default, dir, true); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: %v", what, err)
		}
	}
	for at := range good {
		check("cut off", good[:at])
		for bit := range 8 {
			bad := bytes.Clone(good)
			bad[at] ^= 1 << bit
			check("a bit is flipped", bad)
		}
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if _, err := loadReplicas(vfs.Default, dir, true); !errors.Is(err, ErrDamaged) {
		t.Errorf("it is missing: %v", err)
	}
}

func TestWhichReplicaAHostMayJoinWith(t *testing.T) {
	for name, test := range map[string]struct {
		has     replicaRecord
		replica uint64
		good    bool
	}{
		"it has none":               {replicaRecord{}, 1030, true},
		"it has that one":           {replicaRecord{Replica: 1030, Joined: true}, 1030, true},
		"it has another one":        {replicaRecord{Replica: 1031, Joined: true}, 1030, false},
		"it has that of bootstrap":  {replicaRecord{Replica: 2}, 1030, false},
		"it had another one":        {replicaRecord{Discarded: []uint64{2, 1029}}, 1030, true},
		"it had that one":           {replicaRecord{Discarded: []uint64{2, 1030}}, 1030, false},
		"the id is of a bootstrap":  {replicaRecord{}, 1023, false},
		"it is that of a bootstrap": {replicaRecord{Replica: 2}, 2, false},
	} {
		next, err := test.has.join(test.replica)
		if (err == nil) != test.good || err != nil && !errors.Is(err, ErrOtherReplica) {
			t.Errorf("%s: %v", name, err)
		}
		if err == nil && (next.Replica != test.replica || !next.Joined) {
			t.Errorf("%s: %+v", name, next)
		}
	}
}

// TestTheReplicaOfANewGroupHasAnIDAboveAllEarlierOnes, and the earlier replica is discarded.
func TestTheReplicaOfANewGroupHasAnIDAboveAllEarlierOnes(t *testing.T) {
	for name, test := range map[string]struct {
		has       replicaRecord
		replica   uint64
		discarded []uint64 // nil: the id is refused
	}{
		"it has none":                  {replicaRecord{}, 1024, []uint64{}},
		"it has that of bootstrap":     {replicaRecord{Replica: 2}, 1030, []uint64{2}},
		"it has an earlier one":        {replicaRecord{Replica: 1029, Joined: true}, 1030, []uint64{1029}},
		"it has and had earlier ones":  {replicaRecord{Replica: 9, Discarded: []uint64{1029}}, 1030, []uint64{1029, 9}},
		"it has that one":              {replicaRecord{Replica: 1030, Joined: true}, 1030, nil},
		"it has a later one":           {replicaRecord{Replica: 1031, Joined: true}, 1030, nil},
		"it had that one":              {replicaRecord{Replica: 2, Discarded: []uint64{1030}}, 1030, nil},
		"it had a later one":           {replicaRecord{Discarded: []uint64{1031}}, 1030, nil},
		"the id is of a bootstrap":     {replicaRecord{}, 1023, nil},
		"the id is below that of none": {replicaRecord{}, 0, nil},
	} {
		next, err := test.has.regroup(test.replica)
		if test.discarded == nil {
			if !errors.Is(err, ErrOtherReplica) {
				t.Errorf("%s: %+v, %v", name, next, err)
			}
			continue
		}
		if err != nil || next.Replica != test.replica || next.Joined || !slices.Equal(next.Discarded, test.discarded) {
			t.Errorf("%s: %+v, %v", name, next, err)
		}
	}
}

// TestADiscardThatWasCutOffIsFinished: the next discard finishes it; the first process was killed after writing the
// record.
func TestADiscardThatWasCutOffIsFinished(t *testing.T) {
	one := openOne(t, nil)
	one.mustPropose(0, 3)
	record := one.host.replica(testShard)
	if err := one.host.replicas.set(testShard, record.discard(record.Replica)); err != nil {
		t.Fatal(err)
	}
	one.close()
	one.openHost()
	if replica, _ := one.host.Replica(testShard); replica != 0 {
		t.Errorf("it has replica %d", replica)
	}
	if !one.host.engine.HasNodeInfo(testShard, 1) {
		t.Error("there is nothing left to discard")
	}
	if err := one.host.Discard(t.Context(), testShard, 1); err != nil {
		t.Error(err)
	}
	if one.host.engine.HasNodeInfo(testShard, 1) {
		t.Error("it is still there")
	}
}
