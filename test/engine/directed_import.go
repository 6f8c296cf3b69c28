package engine

import (
	"context"
	"slices"
	"time"

	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/raftlog"
	"github.com/signalbox/signalbox/shard/raftlog/raftlogtest"
	"github.com/signalbox/signalbox/shard/raftlog/raftlogtest/outage"
	"github.com/signalbox/signalbox/shard/raftlog/transport"
)

// saved is a state machine with imported state.
type saved struct{ values []uint64 }

// PrepareSnapshot implements raftlog.Saver.
func (s saved) PrepareSnapshot() (shard.Snapshot, error) { return tallySnapshot{s.values, 1}, nil }

// imported is the imported state.
var imported = []uint64{7, 8, 9}

// failAfterImport imports a state into an empty directory, and has the power fail before the host is started.
func (w *world) failAfterImport() {
	for _, draw := range outage.Extremes[:4] {
		w.importAndStart(w.newImporter(), draw)
	}
}

// failWhileImporting fails the power at steps of an import. Then it removes the data directory and imports again, like
// a restore.
func (w *world) failWhileImporting() {
	whole := w.newImporter()
	if err := importInto(whole); err != nil {
		w.oracle.fail("import: %w", err)
		return
	}
	steps := whole.Disk().Steps()
	for i := 0; i < 30 && !w.oracle.failed(); i++ {
		m, at := w.newImporter(), 1+w.random.Int64N(steps)
		draw := lost
		if i%2 == 0 {
			draw = drawAt(w.hosts[0], at)
		}
		m.Disk().Trap(func(s raftlogtest.Step) error {
			if s.Number == at {
				w.trace("power in an import", "before step %d, %+v", at, s.Step)
				m.PowerFailure(draw)
			}
			return nil
		})
		_ = importInto(m) // the process has ended
		if err := m.Disk().Files().FS.RemoveAll(m.DataDir()); err != nil {
			w.oracle.fail("%w", err)
		}
		w.importAndStart(m, lost)
	}
}

// newImporter returns a machine with an empty disk and no earlier host.
func (w *world) newImporter() *raftlogtest.Machine {
	return raftlogtest.NewMachine(w.network, "import:7421", w.hosts[0].Config)
}

// importInto imports into a machine's directory.
func importInto(m *raftlogtest.Machine) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	c := m.Config
	c.Files, c.DataDir = m.Disk().Files(), m.DataDir()
	state := raftlog.State{Replica: transport.FirstJoined, Machine: saved{imported}}
	return raftlog.Import(ctx, c, map[uint64]raftlog.State{shardID: state})
}

// importAndStart imports, fails the power, and starts a host, which must have the imported state.
func (w *world) importAndStart(m *raftlogtest.Machine, draw outage.Draw) {
	if err := importInto(m); err != nil {
		w.oracle.fail("import: %w", err)
		return
	}
	m.PowerFailure(draw)
	p, err := m.Start(nil, nil)
	if err != nil {
		w.oracle.fail("after an import: %w", err)
		return
	}
	defer m.Stop()
	own := &run{Process: p, machine: &tally{oracle: newOracle(), host: m.Config.Host, ended: p.Ended}}
	own.log, err = p.Host.Start(shardID, own.machine)
	until := time.Now().Add(patience)
	for ; err == nil && time.Now().Before(until); time.Sleep(100 * time.Millisecond) {
		if own.read(own.machine.oracle) == nil {
			break
		}
	}
	if got, _ := own.machine.state(); err != nil || !slices.Equal(got, imported) {
		w.oracle.fail("imported %v, and there is %v, %w", imported, got, err)
	}
}
