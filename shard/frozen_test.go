package shard

import (
	"bytes"
	"flag"
	"path/filepath"
	"testing"

	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/test/keptlog"
)

// WriteFrozen is the flag with which logs of the newest level are made.
var WriteFrozen = flag.Bool("frozen.write", false,
	"make the logs of the newest level that this build can follow, in testdata/frozen, where there are none")

// FrozenBounds are so small that the logs have much that is pending, and sessions with all the links that they may
// have.
var FrozenBounds = Bounds{Work: 3, SessionLinks: 4}

const (
	frozenDir   = "testdata/frozen"
	frozenParts = 5 // between snapshots
)

// frozenMachine is a machine that a frozen log is of.
type frozenMachine struct {
	*Machine
	batch Batch
	out   Effects
}

// FrozenMachine lets a log be made of a machine, and replayed by it.
func FrozenMachine(m *Machine) keptlog.Machine { return &frozenMachine{Machine: m} }

func (fm *frozenMachine) Restore(file []byte) error { return fm.Machine.Restore(bytes.NewReader(file)) }

func (fm *frozenMachine) Save() ([]byte, error) {
	sn, err := fm.PrepareSnapshot()
	if err != nil {
		return nil, err
	}
	defer sn.Discard()
	var file bytes.Buffer
	err = sn.Save(&file, nil)
	return file.Bytes(), err
}

func (fm *frozenMachine) Apply(data []byte) (again []byte, err error) {
	if err := DecodeBatch(data, &fm.batch, fm.Level()); err != nil {
		return nil, err
	}
	whole := true
	for i := range fm.batch.Commands {
		whole = whole && fm.batch.Commands[i].Level <= fm.Level()
	}
	if whole {
		again = AppendBatch(nil, &fm.batch)
	}
	fm.out.Reset()
	fm.Machine.Apply(&fm.batch, &fm.out)
	return again, nil
}

func emptyFrozen() keptlog.Machine { return FrozenMachine(New(Options{Bounds: FrozenBounds})) }

// TestFrozenLevelsAreWhatTheyWere: logs and snapshots of each level with rollouts and processes, with
// numbered commands and such as are bounded. What later levels bring does not change these bytes, nor what they do. The
// logs of a level are made before the next one begins, with
//
//	go test ./shard ./shard/meta -run 'TestFrozen' -frozen.write
func TestFrozenLevelsAreWhatTheyWere(t *testing.T) {
	if *WriteFrozen && level.Newest >= bodyLevel {
		writeFrozenObjects(t, "rollouts", newRolloutRun(7, map[string]int{}).objectRun, CmdRolloutPut)
		writeFrozenObjects(t, "processes", newProcessRun(7, map[string]int{}).objectRun, CmdProcessPut)
	}
	names := map[string]level.Level{"rollouts": bodyLevel, "processes": bodyLevel}
	keptlog.Check(t, frozenDir, names, emptyFrozen)
}

func writeFrozenObjects(t *testing.T, name string, r *objectRun, early CommandKind) {
	t.Helper()
	w := keptlog.Writer{}
	note := func() {
		if err := w.Snapshot(FrozenMachine(r.m), emptyFrozen()); err != nil {
			t.Fatal(err)
		}
	}
	r.m = New(Options{Bounds: FrozenBounds})
	r.record = func(b *Batch) { w.Batch(AppendBatch(nil, b)) }
	note()
	steps := 0
	after := r.after
	r.after = func() error {
		if steps++; steps%(rolloutSteps/frozenParts) == 0 && steps < rolloutSteps {
			note()
		}
		return after()
	}
	if err := r.play(early, rolloutSteps); err != nil {
		t.Fatal(err)
	}
	note()
	if err := w.Keep(filepath.Join(frozenDir, keptlog.FileName(level.Newest, name))); err != nil {
		t.Fatal(err)
	}
}
