package simulation_test

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"io"
	"time"

	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/server"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/test/simulation"
)

// aboveLevel: hosts propose commands above their shard's level, and one host skips the level check: like a newer build,
// the host executes commands refused by its peers.
func aboveLevel() *simulation.Bug {
	proposers := withLog(func(l *faultyLog) {
		l.alter = func(c *shard.Command) {
			if c.Kind == shard.CmdSessionCreate && c.Timeout == 5000 {
				c.Level = level.Newest + 1
			}
		}
	})
	unchecked := withMachine(func(m *faultyMachine, e shard.Entry) error {
		if m.host == 2 {
			e.Data = lowered(e.Data)
		}
		return m.StateMachine.Apply([]shard.Entry{e})
	})
	return &simulation.Bug{Config: func(c *server.Config) {
		unchecked.Config(c)
		proposers.Config(c)
	}}
}

// lowered rewrites a batch so that no command is above the newest level.
func lowered(batch []byte) []byte {
	var b shard.Batch
	if err := shard.DecodeBatch(batch, &b, level.Newest+1); err != nil {
		panic(err)
	}
	for i := range b.Commands {
		b.Commands[i].Level = min(b.Commands[i].Level, level.Newest)
	}
	return shard.AppendBatch(nil, &b)
}

// snapshotOfAnotherLevel: a host writes snapshots with the first level, whatever the shard's level. A replica restored
// from such a snapshot has a wrong level.
func snapshotOfAnotherLevel() *simulation.Bug {
	return &simulation.Bug{Config: func(c *server.Config) {
		open := c.Logs
		c.Logs = func(id uint64, sm shard.StateMachine) (shard.Log, error) {
			if id != 0 {
				sm = &misleadingMachine{sm}
			}
			return open(id, sm)
		}
	}}
}

type misleadingMachine struct{ shard.StateMachine }

func (m *misleadingMachine) PrepareSnapshot() (shard.Snapshot, error) {
	s, err := m.StateMachine.PrepareSnapshot()
	return &misleadingSnapshot{s}, err
}

type misleadingSnapshot struct{ shard.Snapshot }

// Save writes the file with the first level in its header: after the file magic and the head of the first block.
func (m *misleadingSnapshot) Save(w io.Writer, stop <-chan struct{}) error {
	var file bytes.Buffer
	if err := m.Snapshot.Save(&file, stop); err != nil {
		return err
	}
	const start, head = 16 + 4, 1 + 4
	b := file.Bytes()
	size := int(binary.LittleEndian.Uint32(b[start+1:]))
	b[start+head] = byte(level.First)
	sum := crc32.Checksum(b[start:start+head+size], crc32.MakeTable(crc32.Castagnoli))
	binary.LittleEndian.PutUint32(b[start+head+size:], sum)
	_, err := w.Write(b)
	return err
}

// restores creates a world in which killed hosts come back from snapshots.
func restores(p *simulation.Plan) {
	p.Hosts, p.Rates = 3, []float64{1, 1, 1}
	p.Log.SnapshotEvery, p.Log.SnapshotKeep = 20, 0
	p.Faults = nil
	for at := 10 * time.Second; at < p.Length; at += 15 * time.Second {
		host := shard.HostID(1 + len(p.Faults)%3)
		p.Faults = append(p.Faults, simulation.Fault{Kind: simulation.Kill, At: at, For: 4 * time.Second, Host: host})
	}
}

// driftingReplica: one host stores different session descriptions. No client ever reads them, so only digest comparison
// detects it.
func driftingReplica() *simulation.Bug {
	return withMachine(func(m *faultyMachine, e shard.Entry) error {
		if m.host == 2 {
			var b shard.Batch
			if err := shard.DecodeBatch(e.Data, &b, level.Newest); err != nil {
				return err
			}
			for i := range b.Commands {
				if b.Commands[i].Kind == shard.CmdSessionCreate {
					b.Commands[i].Data = []byte("of another replica")
				}
			}
			e.Data = shard.AppendBatch(nil, &b)
		}
		return m.StateMachine.Apply([]shard.Entry{e})
	})
}

// several creates a world with three hosts.
func several(p *simulation.Plan) { p.Hosts, p.Rates = 3, []float64{1, 1, 1} }
