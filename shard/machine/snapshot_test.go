package machine

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/machine/machinetest"
)

// busy runs random, mostly successful commands on one machine.
type busy struct {
	bed
	rng      *rand.Rand
	sessions []shard.SessionID
	numbers  map[shard.SessionID]uint64
}

func newBusy(m *Machine, seed uint64) *busy {
	return &busy{
		bed: bed{machinetest.Bed[*Machine]{M: m}}, rng: rand.New(rand.NewPCG(seed, 9)),
		numbers: map[shard.SessionID]uint64{},
	}
}

func (b *busy) batch() *shard.Batch {
	name := func() []byte { return fmt.Appendf(nil, "s%d", b.rng.IntN(60)) }
	batch := &shard.Batch{}
	for range 1 + b.rng.IntN(20) {
		if len(b.sessions) < 20 || b.rng.IntN(20) == 0 {
			batch.Commands = append(batch.Commands, shard.Command{
				Kind: shard.CmdSessionCreate, Slot: shard.Slot(b.rng.IntN(shard.Slots)),
				Node:    shard.NodeID(1 + b.rng.IntN(3)),
				Timeout: 5000, Data: []byte("d"), Key: []byte("key"),
			})
			continue
		}
		id := b.sessions[b.rng.IntN(len(b.sessions))]
		v, known := b.M.Session(id)
		if !known {
			continue
		}
		c := shard.Command{Node: v.Node, Name: name(), Session: id, Number: b.numbers[id] + 1,
			Acked: b.numbers[id] - min(b.numbers[id], uint64(b.rng.IntN(3)))}
		switch b.rng.IntN(24) {
		case 0, 1:
			c.Kind, c.Count, c.Data = shard.CmdSemaphoreCreate, uint64(1+b.rng.IntN(4)), []byte("data")
		case 2, 3:
			c.Kind, c.Data = shard.CmdSemaphoreUpdate, fmt.Appendf(nil, "%d", b.rng.IntN(100))
		case 4:
			c.Kind, c.Flags = shard.CmdSemaphoreDelete, shard.FlagForce
		case 5, 6, 7, 8:
			c.Kind = shard.CmdRelease
		case 9:
			batch.Commands = append(batch.Commands, shard.Command{Kind: shard.CmdSessionEnd, Session: id})
			continue
		default:
			c.Kind, c.Count, c.Timeout = shard.CmdAcquire, uint64(1+b.rng.IntN(3)), uint64(b.rng.IntN(2)*60_000)
			c.Data = []byte("owner")
			if b.rng.IntN(2) == 0 {
				c.Flags, c.Name = shard.FlagEphemeral, append(c.Name, 'e')
			}
		}
		b.numbers[id]++
		batch.Commands = append(batch.Commands, c)
	}
	return batch
}

func (b *busy) apply(batch *shard.Batch) {
	for i := range batch.Commands {
		batch.Commands[i].Level = b.At
	}
	b.Out.Reset()
	b.M.Apply(batch, &b.Out)
	for _, e := range b.Out.List {
		if e.Kind == shard.EffectResult && batch.Commands[e.Op].Kind == shard.CmdSessionCreate {
			b.sessions = append(b.sessions, e.Session)
		}
	}
}

func (b *busy) steps(n int) {
	for range n {
		b.apply(b.batch())
	}
}

func restored(t testing.TB, file []byte) *Machine {
	t.Helper()
	m := New(TestKinds, Options{})
	if err := m.Restore(bytes.NewReader(file)); err != nil {
		t.Fatal(err)
	}
	return m
}

// stepper lets a test run something between the pieces of a Save.
type stepper struct {
	bytes.Buffer
	between func()
}

func (s *stepper) Write(p []byte) (int, error) {
	s.between()
	return s.Buffer.Write(p)
}

func TestSnapshotShowsTheMomentItWasPreparedWhateverComesMeanwhile(t *testing.T) {
	for seed := range uint64(30) {
		m := New(TestKinds, Options{})
		b := newBusy(m, seed)
		b.steps(200)
		want := m.State()
		sn := machinetest.Prepare(t, m)
		b.steps(int(seed % 7)) // before Save begins
		file := stepper{between: func() { b.steps(5) }}
		if err := sn.Save(&file, nil); err != nil {
			t.Fatal(err)
		}
		sn.Discard()
		if got := restored(t, file.Bytes()).State(); !reflect.DeepEqual(got, want) {
			t.Fatalf("seed %d: have %+v\nwant %+v", seed, got, want)
		}
		if len(m.core.Snapshots.list) != 0 {
			t.Fatal("the machine still holds a discarded snapshot")
		}
	}
}

func TestSeveralSnapshotsAtOnceEachShowTheirOwnMoment(t *testing.T) {
	m := New(TestKinds, Options{})
	b := newBusy(m, 1)
	var taken []shard.Snapshot
	var want []shard.State
	for range 5 {
		b.steps(60)
		want = append(want, m.State())
		taken = append(taken, machinetest.Prepare(t, m))
	}
	for i, sn := range taken {
		b.steps(20)
		if got := restored(t, machinetest.Save(t, sn)).State(); !reflect.DeepEqual(got, want[i]) {
			t.Fatalf("snapshot %d differs", i)
		}
	}
}

func TestRestoredMachineGoesOnExactlyAsTheOther(t *testing.T) {
	for seed := range uint64(20) {
		m := New(TestKinds, Options{})
		b := newBusy(m, seed)
		b.steps(150)
		other := machinetest.Copy(t, m, New(TestKinds, Options{}))
		var out shard.Effects
		for range 150 {
			batch := b.batch()
			b.apply(batch)
			out.Reset()
			other.Apply(batch, &out)
			if !slices.Equal(out.List, b.Out.List) {
				t.Fatalf("seed %d: effects differ:\n%+v\n%+v", seed, out.List, b.Out.List)
			}
		}
		if m.Digest() != other.Digest() {
			t.Fatalf("seed %d: digests differ", seed)
		}
		if a, b := m.Count(), other.Count(); a != b {
			t.Fatalf("seed %d: counts differ: %+v %+v", seed, a, b)
		}
	}
}

func TestSaveBesideApplyIsFreeOfRaces(t *testing.T) {
	m := New(TestKinds, Options{})
	b := newBusy(m, 3)
	b.steps(500)
	want := m.State()
	sn := machinetest.Prepare(t, m)
	var file bytes.Buffer
	var saving sync.WaitGroup
	saving.Go(func() {
		if err := sn.Save(&file, nil); err != nil {
			t.Error(err)
		}
	})
	b.steps(500)
	saving.Wait()
	sn.Discard()
	if got := restored(t, file.Bytes()).State(); !reflect.DeepEqual(got, want) {
		t.Fatal("the snapshot shows another moment")
	}
}

func TestSaveStopsWhenAsked(t *testing.T) {
	m := New(TestKinds, Options{})
	newBusy(m, 1).steps(50)
	stop := make(chan struct{})
	close(stop)
	sn := machinetest.Prepare(t, m)
	if err := sn.Save(io.Discard, stop); !errors.Is(err, shard.ErrSnapshotStopped) {
		t.Fatal(err)
	}
	sn.Discard()
	sn.Discard()
	if err := sn.Save(io.Discard, nil); !errors.Is(err, shard.ErrSnapshotStopped) {
		t.Fatalf("a discarded snapshot was saved: %v", err)
	}
}

func TestRestoringEndsASaveThatIsUnderWay(t *testing.T) {
	m := New(TestKinds, Options{})
	newBusy(m, 1).steps(50)
	file := machinetest.File(t, m)
	sn := machinetest.Prepare(t, m)
	if err := m.Restore(bytes.NewReader(file)); err != nil {
		t.Fatal(err)
	}
	if err := sn.Save(io.Discard, nil); !errors.Is(err, shard.ErrSnapshotStopped) {
		t.Fatal(err)
	}
}

func TestDamagedSnapshotIsNamedAndChangesNothing(t *testing.T) {
	m := New(TestKinds, Options{})
	b := newBusy(m, 4)
	b.steps(40)
	file := machinetest.File(t, m)
	before := m.Digest()
	try := func(what string, damaged []byte) {
		t.Helper()
		err := m.Restore(bytes.NewReader(damaged))
		if !errors.Is(err, ErrBadSnapshot) && !errors.Is(err, shard.ErrNewerFormat) {
			t.Fatalf("%s: %v", what, err)
		}
		if m.Digest() != before {
			t.Fatalf("%s: the machine has changed", what)
		}
	}
	for at := 0; at < len(file); at += 1 + at/64 {
		try(fmt.Sprintf("cut at %d", at), file[:at])
		flipped := bytes.Clone(file)
		flipped[at] ^= 0x20
		try(fmt.Sprintf("flipped at %d", at), flipped)
	}
	newer := bytes.Clone(file)
	newer[len(snapshotMagic)] = snapshotFormat + 1
	if err := m.Restore(bytes.NewReader(newer)); !errors.Is(err, shard.ErrNewerFormat) ||
		!strings.Contains(err.Error(), fmt.Sprint("format ", snapshotFormat+1)) {
		t.Fatal(err)
	}
	if err := m.Restore(strings.NewReader("something else altogether")); !errors.Is(err, ErrBadSnapshot) {
		t.Fatal(err)
	}
}

// blocks frames payloads as a file with valid checksums, so that the fuzzer gets past them.
func blocks(kinds, body []byte) []byte {
	file := []byte(snapshotMagic)
	file = binary.LittleEndian.AppendUint32(file, snapshotFormat)
	for _, kind := range kinds {
		n := 0
		if len(body) > 1 {
			n = int(binary.LittleEndian.Uint16(body))
			body = body[2:]
		}
		n = min(n, len(body))
		from := len(file)
		file = append(file, kind)
		file = binary.LittleEndian.AppendUint32(file, uint32(n))
		file = append(file, body[:n]...)
		file = binary.LittleEndian.AppendUint32(file, crc32.Checksum(file[from:], castagnoli))
		body = body[n:]
	}
	return file
}

// unframe is the inverse: the fuzzer's seeds are real files.
func unframe(file []byte) (kinds, body []byte) {
	at := len(snapshotMagic) + 4
	for at < len(file) {
		n := int(binary.LittleEndian.Uint32(file[at+1:]))
		kinds = append(kinds, file[at])
		body = binary.LittleEndian.AppendUint16(body, uint16(n))
		body = append(body, file[at+5:at+5+n]...)
		at += 5 + n + 4
	}
	return kinds, body
}

func FuzzRestore(f *testing.F) {
	for seed := range uint64(10) {
		m := New(TestKinds, Options{Bounds: Bounds{Work: 2}})
		if seed >= 5 {
			m.Apply(&shard.Batch{Commands: []shard.Command{
				{Kind: shard.CmdNodeLimits, Node: 1, Count: 9},
				{Kind: shard.CmdNodeLimits, Bytes: 1 << 40},
				{Kind: shard.CmdNodeLimits, Node: 4, Bytes: 1 << 20},
			}}, new(shard.Effects))
		}
		busy := newBusy(m, seed)
		busy.steps(3)
		file := machinetest.File(f, m)
		kinds, body := unframe(file)
		if !bytes.Equal(blocks(kinds, body), file) {
			f.Fatal("framing a file anew changes it")
		}
		f.Add(kinds, body)
	}
	f.Fuzz(func(t *testing.T, kinds, body []byte) {
		m := New(TestKinds, Options{History: 64})
		if err := m.Restore(bytes.NewReader(blocks(kinds, body))); err != nil {
			if !errors.Is(err, ErrBadSnapshot) && !errors.Is(err, shard.ErrNewerFormat) {
				t.Fatal(err)
			}
			return
		}
		// Accepted state must satisfy the machine's invariants: it works, and saves equally.
		want := m.State()
		if got := machinetest.Copy(t, m, New(TestKinds, Options{})).State(); !reflect.DeepEqual(got, want) {
			t.Fatalf("have %+v\nwant %+v", got, want)
		}
		var out shard.Effects
		for _, s := range want.Sessions {
			m.Apply(&shard.Batch{Commands: []shard.Command{
				{Kind: shard.CmdSessionEnd, Session: s.ID},
				{Kind: shard.CmdSessionsForget, Sessions: []shard.SessionID{s.ID}},
			}}, &out)
		}
	})
}

// TestOwnersAboveALoweredLimitAreRestored: owners may hold more than a lowered limit.
func TestOwnersAboveALoweredLimitAreRestored(t *testing.T) {
	b := newBed(2)
	b.Do(shard.Command{Kind: shard.CmdSemaphoreCreate, Node: 1, Name: []byte("slots"), Count: shard.Forever})
	b.Do(shard.Command{Kind: shard.CmdAcquire, Node: 1, Session: b.IDs[0], Number: 1, Name: []byte("slots"),
		Count: shard.Forever - 2})
	b.Do(shard.Command{Kind: shard.CmdAcquire, Node: 1, Session: b.IDs[1], Number: 1, Name: []byte("slots"), Count: 2})
	b.Do(shard.Command{Kind: shard.CmdSemaphoreResize, Node: 1, Name: []byte("slots"), Count: 1})
	m := New(TestKinds, Options{})
	if err := m.Restore(bytes.NewReader(machinetest.File(t, b.M))); err != nil || m.Digest() != b.M.Digest() {
		t.Error(err)
	}
}

// TestARecordThatIsMissingStopsASnapshot: a change without prior notice would lose the snapshot's old state.
func TestARecordThatIsMissingStopsASnapshot(t *testing.T) {
	m := New(TestKinds, Options{})
	newBusy(m, 4).steps(40)
	sn := machinetest.Prepare(t, m)
	session := m.core.Sessions.End() - 1
	for ; m.core.Sessions.At(session).id == 0; session-- {
	}
	m.core.Sessions.At(session).stamp = m.core.Snapshots.epoch // as if touched, and not preserved
	defer func() {
		if recover() == nil {
			t.Error("a snapshot without one of its sessions was saved")
		}
	}()
	_ = sn.Save(&bytes.Buffer{}, nil)
}

// TestARestoreInPlaceHoldsOneContentAtATime: the old content is released before the new one is read, and a failure
// leaves an empty machine.
func TestARestoreInPlaceHoldsOneContentAtATime(t *testing.T) {
	from, to := New(TestKinds, Options{}), New(TestKinds, Options{})
	newBusy(from, 1).steps(50)
	newBusy(to, 2).steps(50)
	file := machinetest.File(t, from)
	under := machinetest.Prepare(t, to)
	reader := readerOf(func(p []byte) (int, error) { // the lock is held
		if n := to.core.Sessions.Size() + to.core.Objects.Size(); n != 0 {
			t.Fatalf("%d things of the old content are left", n)
		}
		n := copy(p, file)
		file = file[n:]
		if n == 0 {
			return 0, io.EOF
		}
		return n, nil
	})
	if err := to.RestoreInPlace(reader); err != nil {
		t.Fatal(err)
	}
	if to.Digest() != from.Digest() {
		t.Error("another state was restored than the saved one")
	}
	if err := under.Save(io.Discard, nil); !errors.Is(err, shard.ErrSnapshotStopped) {
		t.Error(err)
	}
	if err := to.RestoreInPlace(strings.NewReader("damaged")); !errors.Is(err, ErrBadSnapshot) {
		t.Error(err)
	}
	if usage := to.Usage(0); usage.Objects != 0 || usage.Bytes != 0 {
		t.Errorf("%+v is left after a failure", usage)
	}
}

// readerOf turns a function into a reader.
type readerOf func(p []byte) (int, error)

func (r readerOf) Read(p []byte) (int, error) { return r(p) }
