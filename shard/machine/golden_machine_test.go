package machine_test

import (
	"bytes"
	"fmt"
	"reflect"

	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/clock"
	"github.com/signalbox/signalbox/shard/machine"
)

// goldenMachine is a machine on the stage, with a host's surroundings: the log that feeds it, its snapshots and its
// watches. A second machine, its shadow, goes through everything with it, but is replaced by one from a snapshot every
// few batches; a third is restored from a snapshot for each batch. They must never differ.
type goldenMachine struct {
	name    string
	options machine.Options
	*machine.Machine
	log []goldenEntry

	shadow *machine.Machine

	// kept is the snapshot for the next restart; file is its saved form, written as late as possible. It includes the
	// log up to keptUpTo.
	kept     shard.Snapshot
	file     []byte
	keptUpTo int

	// A replica is fed from another machine's log, on the script's request. It is up to date up to keptUpTo.
	follows *goldenMachine

	watches  *shard.WatchSet[uint64]
	watchers []goldenWatcher // by token

	before shard.State // after the last batch
}

type goldenEntry struct {
	data    []byte
	effects []shard.Effect
}

type goldenWatcher struct {
	session shard.SessionID
	name    shard.ObjectName
}

// shadowEvery is how many batches a shadow lives.
const shadowEvery = 3

func newGoldenMachine(name string, o machine.Options) *goldenMachine {
	g := &goldenMachine{
		name: name, options: o, Machine: machine.New(machine.TestKinds, o), shadow: machine.New(machine.TestKinds, o),
		watches: shard.NewWatchSet[uint64](),
	}
	g.before = g.State()
	return g
}

// propose sends commands through the full path: encoded, decoded, applied by the machine and its shadows, and compared.
func (g *goldenMachine) propose(commands []shard.Command, stamp clock.Stamp) ([]shard.Effect, error) {
	if g.follows != nil {
		return nil, fmt.Errorf("%s only follows %s", g.name, g.follows.name)
	}
	for i := range commands {
		commands[i].Level = max(g.Level(), shard.LevelOf(&commands[i])) // as a host does
	}
	b := shard.Batch{Proposer: 1, Sequence: uint64(len(g.log) + 1), Stamp: stamp, Commands: commands}
	data := shard.AppendBatch(nil, &b)
	var gathered []byte
	for i := range commands {
		gathered = shard.AppendCommand(gathered, &commands[i])
	}
	if !bytes.Equal(data, shard.AppendGathered(nil, b.Proposer, b.Sequence, b.Stamp, len(commands), gathered)) {
		return nil, fmt.Errorf("a gathered batch is not as one that was encoded at once")
	}
	// The snapshot is fixed before the batch and saved after it: state changed by the batch must be preserved.
	before, err := g.PrepareSnapshot()
	if err != nil {
		return nil, err
	}
	effects, err := applyGolden(g.Machine, data)
	if err != nil {
		return nil, err
	}
	file, err := saveGolden(before)
	if err != nil {
		return nil, err
	}
	fresh, err := restoreGolden(file, g.options)
	if err != nil {
		return nil, err
	}
	if !reflect.DeepEqual(fresh.State(), g.before) {
		return nil, fmt.Errorf("a snapshot holds:\n%+v\nand was taken of:\n%+v", fresh.State(), g.before)
	}
	for _, shadow := range []*machine.Machine{fresh, g.shadow} {
		shadowed, err := applyGolden(shadow, data)
		if err != nil {
			return nil, err
		}
		if !reflect.DeepEqual(effects, shadowed) {
			return nil, fmt.Errorf("a machine from a snapshot brings about:\n%+v\nand the one it was taken of:\n%+v",
				shadowed, effects)
		}
		if err := sameGolden(g.Machine, shadow); err != nil {
			return nil, err
		}
	}
	if len(g.log)%shadowEvery == 0 {
		g.shadow = fresh
	}
	g.log = append(g.log, goldenEntry{data: data, effects: effects})
	if err := checkGolden(g, commands, effects); err != nil {
		return nil, err
	}
	g.before = g.State()
	return effects, nil
}

// applyGolden applies an encoded batch. The bytes are overwritten afterwards, because a log would reuse them.
func applyGolden(m *machine.Machine, data []byte) ([]shard.Effect, error) {
	lent := bytes.Clone(data)
	var b shard.Batch
	if err := shard.DecodeBatch(lent, &b, m.Level()); err != nil {
		return nil, err
	}
	if !bytes.Equal(data, shard.AppendBatch(nil, &b)) {
		return nil, fmt.Errorf("a batch does not come back as it was encoded")
	}
	var out shard.Effects
	m.Apply(&b, &out)
	for i := range lent {
		lent[i] = 0xff
	}
	return out.List, nil
}

func sameGolden(a, b *machine.Machine) error {
	x, y := a.State(), b.State()
	if !reflect.DeepEqual(x, y) {
		return fmt.Errorf("two replicas differ:\n%+v\n%+v", x, y)
	}
	if a.Digest() != b.Digest() {
		return fmt.Errorf("two replicas are the same and their digests are not")
	}
	return nil
}

// saveGolden writes and discards a snapshot.
func saveGolden(sn shard.Snapshot) ([]byte, error) {
	defer sn.Discard()
	var file bytes.Buffer
	err := sn.Save(&file, nil)
	return file.Bytes(), err
}

func restoreGolden(file []byte, o machine.Options) (*machine.Machine, error) {
	m := machine.New(machine.TestKinds, o)
	return m, m.Restore(bytes.NewReader(file))
}

// snapshot keeps the current state for the next restart.
func (g *goldenMachine) snapshot() error {
	if g.kept != nil {
		g.kept.Discard()
	}
	kept, err := g.PrepareSnapshot()
	g.kept, g.keptUpTo = kept, len(g.log)
	return err
}

// restart replaces the machine by one restored from a host's disk content: the last snapshot and the log after it. Only
// state outside the replicated state may be lost: watches and history.
func (g *goldenMachine) restart() (replayed int, err error) {
	if g.kept != nil {
		if g.file, err = saveGolden(g.kept); err != nil {
			return 0, err
		}
		g.kept = nil
	}
	if g.file == nil {
		return 0, fmt.Errorf("%s has no snapshot to start from", g.name)
	}
	old := g.Machine
	if g.Machine, err = restoreGolden(g.file, g.options); err != nil {
		return 0, err
	}
	g.watches = shard.NewWatchSet[uint64]()
	replayed = len(g.log) - g.keptUpTo
	if err := g.replay(g.log[g.keptUpTo:]); err != nil {
		return 0, err
	}
	return replayed, sameGolden(old, g.Machine)
}

// replay feeds log entries, which must have their original effects.
func (g *goldenMachine) replay(log []goldenEntry) error {
	for i := range log {
		effects, err := applyGolden(g.Machine, log[i].data)
		if err != nil {
			return err
		}
		if !reflect.DeepEqual(effects, log[i].effects) {
			return fmt.Errorf("the log brought about this:\n%+v\nand at first this:\n%+v", effects, log[i].effects)
		}
	}
	return nil
}

// replica returns a replica that does not advance until it catches up.
func (g *goldenMachine) replica(name string) (*goldenMachine, error) {
	sn, err := g.PrepareSnapshot()
	if err != nil {
		return nil, err
	}
	file, err := saveGolden(sn)
	if err != nil {
		return nil, err
	}
	m, err := restoreGolden(file, g.options)
	return &goldenMachine{
		name: name, options: g.options, Machine: m, follows: g, keptUpTo: len(g.log),
		watches: shard.NewWatchSet[uint64](),
	}, err
}

// catchUp applies the entries applied meanwhile by the followed machine.
func (g *goldenMachine) catchUp() (replayed int, err error) {
	if g.follows == nil {
		return 0, fmt.Errorf("%s follows no other machine", g.name)
	}
	log := g.follows.log[g.keptUpTo:]
	if err := g.replay(log); err != nil {
		return 0, err
	}
	g.keptUpTo += len(log)
	return len(log), sameGolden(g.follows.Machine, g.Machine)
}
