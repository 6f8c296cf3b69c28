package meta

import (
	"bytes"
	"flag"
	"path/filepath"
	"testing"

	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/test/keptlog"
)

var writeFrozen = flag.Bool("frozen.write", false,
	"make the logs of the newest level that this build can follow, in testdata/frozen, where there are none")

const (
	frozenDir   = "testdata/frozen"
	frozenParts = 5 // between snapshots
)

// frozenMachine is a machine that a log is kept of.
type frozenMachine struct {
	*Machine
	batch Batch
}

func emptyFrozen() keptlog.Machine { return &frozenMachine{Machine: New()} }

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
	for i := range fm.batch.Commands {
		if fm.batch.Commands[i].Level > fm.Level() {
			data = nil
		}
	}
	if data != nil {
		if again, err = AppendBatch(nil, &fm.batch); err != nil {
			return nil, err
		}
	}
	var out Effects
	fm.Machine.Apply(&fm.batch, &out)
	return again, nil
}

// TestFrozenLevelsAreWhatTheyWere is the test of the same name of package shard, for this machine: nodes and slots, and
// from the level on that has them hosts, rights, steps and numbered commands. Its logs are made with
//
//	go test ./shard ./shard/meta -run 'TestFrozen' -frozen.write
func TestFrozenLevelsAreWhatTheyWere(t *testing.T) {
	if *writeFrozen {
		writeFrozenNodes(t)
		if level.Newest >= TopologyLevel {
			writeFrozenHosts(t)
		}
	}
	keptlog.Check(t, frozenDir, map[string]level.Level{"nodes": level.First, "hosts": TopologyLevel}, emptyFrozen)
}

// frozenLog is a log that is being made.
type frozenLog struct {
	*testing.T
	keptlog.Writer
}

func (fl *frozenLog) note(m *Machine) {
	if err := fl.Snapshot(&frozenMachine{Machine: m}, emptyFrozen()); err != nil {
		fl.Fatal(err)
	}
}

func (fl *frozenLog) keep(name string) {
	if err := fl.Keep(filepath.Join(frozenDir, keptlog.FileName(level.Newest, name))); err != nil {
		fl.Fatal(err)
	}
}

func writeFrozenNodes(t *testing.T) {
	const commands = 1000
	log := &frozenLog{T: t}
	g := newCommands(12)
	m := New()
	log.note(m)
	apply := func(n int, c Command) {
		b := Batch{Proposer: 1, Sequence: uint64(n), Stamp: g.stamp(m), Commands: []Command{c}}
		log.Batch(encoded(t, &b))
		var out Effects
		m.Apply(&b, &out)
	}
	for at := level.First + 1; at <= level.Newest; at++ {
		apply(int(at), Command{Kind: CmdClusterLevel, Level: m.Level(), Raise: at})
	}
	for n := range commands {
		if n > 0 && n%(commands/frozenParts) == 0 {
			log.note(m)
		}
		c := g.one(m)
		for c.Level > m.Level() { // hosts propose what the level allows
			c = g.one(m)
		}
		c.Level = max(c.Level, m.Level())
		apply(n, c)
	}
	log.note(m)
	log.keep("nodes")
}

func writeFrozenHosts(t *testing.T) {
	const steps = 800
	log := &frozenLog{T: t}
	f := newFleet(t, 7, topologyMistake{})
	f.record = log.Batch
	for n := range steps {
		if n%(steps/frozenParts) == 0 {
			log.note(f.Machine)
		}
		if err := f.step(); err != nil {
			t.Fatal(err)
		}
	}
	log.note(f.Machine)
	log.keep("hosts")
}
