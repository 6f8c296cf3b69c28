package meta

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/clock"
)

// furnished is a small machine with something of everything.
func furnished() *Machine {
	m := bootstrapped(3)
	run(m,
		create("/a", Config{}), create("/b/c", cfg(2000, 20_000)), create("/b/d", Config{}), create("/e", Config{}),
		alter("/b/c", cfg(0, 5_000)),
		drop("/a"), drop("/e"), cleared(1, 2),
		register(host(1, "a")), register(host(2, "b")),
	)
	return m
}

func TestAMachineComesBackFromItsSnapshot(t *testing.T) {
	for name, m := range map[string]*Machine{"empty": New(), "new": bootstrapped(256), "furnished": furnished()} {
		r := copyOf(t, m)
		mustEqual(t, r, m)
		for _, c := range []Command{create("/new", Config{}), drop("/b/c"), confirmed(2, 2), register(host(3, "c"))} {
			if got, want := run(r, c), run(m, c); !reflect.DeepEqual(got, want) {
				t.Errorf("%s: %v: %+v, want %+v", name, c.Kind, got, want)
			}
		}
		mustEqual(t, r, m)
	}
}

func TestASnapshotOfManyBlocksComesBack(t *testing.T) {
	m := bootstrapped(1)
	for i := range 5000 {
		run(m, create(fmt.Sprintf("/%s/%d", strings.Repeat("x", 50), i), Config{}))
		if i%2 == 0 {
			run(m, Command{Kind: CmdNodeDrop, Node: shard.NodeID(i + 1)})
		}
	}
	if size := len(saved(t, m)); size < 2*blockTarget {
		t.Fatalf("%d bytes are not many blocks", size)
	}
	mustEqual(t, copyOf(t, m), m)
}

func TestRestoreReplacesWhatWasThere(t *testing.T) {
	m, other := furnished(), bootstrapped(7)
	run(other, create("/z", Config{}), register(host(9, "z")))
	if err := other.Restore(bytes.NewReader(saved(t, m))); err != nil {
		t.Fatal(err)
	}
	mustEqual(t, other, m)
}

func TestRestoreReadsNoFurtherThanTheEnd(t *testing.T) {
	r := io.MultiReader(bytes.NewReader(saved(t, furnished())), strings.NewReader("what follows"))
	if err := New().Restore(r); err != nil {
		t.Fatal(err)
	}
	if rest, _ := io.ReadAll(r); string(rest) != "what follows" {
		t.Errorf("left: %q", rest)
	}
}

// refused tries to restore bytes that must be refused, with an error containing the text, and without an effect on the
// machine.
func refused(t *testing.T, src []byte, text string) error {
	t.Helper()
	m := furnished()
	before := m.State()
	err := m.Restore(bytes.NewReader(src))
	if !errors.Is(err, ErrSnapshot) || !strings.Contains(err.Error(), text) {
		t.Errorf("%v, want an ErrSnapshot with %q", err, text)
	}
	if after := m.State(); !reflect.DeepEqual(after, before) {
		t.Errorf("a refused snapshot changed the machine: %+v", after)
	}
	return err
}

func TestACutSnapshotIsRefusedWhereverItIsCut(t *testing.T) {
	src := saved(t, furnished())
	for i := range src {
		if err := refused(t, src[:i], ""); !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
			t.Errorf("%d of %d bytes: %v", i, len(src), err)
		}
	}
}

func TestADamagedSnapshotIsRefusedWhereverItIsDamaged(t *testing.T) {
	src := saved(t, furnished())
	for i := range src {
		bad := bytes.Clone(src)
		bad[i] ^= 0x10
		refused(t, bad, "")
	}
}

func TestAForeignOrNewerSnapshotIsRefusedByName(t *testing.T) {
	src := saved(t, furnished())
	foreign := append([]byte("SBX-DATA"), src[8:]...)
	refused(t, foreign, `the snapshot begins with "SBX-DATA", not "SBX-META"`)

	format := func(v uint32) []byte {
		b := bytes.Clone(src)
		binary.LittleEndian.PutUint32(b[8:], v)
		binary.LittleEndian.PutUint32(b[12:], crc32.Checksum(b[:12], castagnoli))
		return b
	}
	err := refused(t, format(snapshotFormat+1), "the format is 2, known up to 1")
	if !errors.Is(err, ErrSnapshotNewer) {
		t.Errorf("%v is not an ErrSnapshotNewer", err)
	}
	err = refused(t, format(0), "the format is 0")
	if errors.Is(err, ErrSnapshotNewer) {
		t.Errorf("%v is an ErrSnapshotNewer", err)
	}
	src[9] ^= 1
	refused(t, src, "the head has a wrong checksum")
}

// written is a snapshot of an impossible state, with valid checksums.
func written(change func(*frozen)) []byte {
	f := furnished().freeze()
	g := *f
	g.nodes, g.hosts, g.dropping = nil, nil, nil
	for _, n := range f.nodes {
		c := *n
		g.nodes = append(g.nodes, &c)
	}
	for _, h := range f.hosts {
		c := *h
		g.hosts = append(g.hosts, &c)
	}
	for _, d := range f.dropping {
		c := *d
		g.dropping = append(g.dropping, &c)
	}
	change(&g)
	var b bytes.Buffer
	if err := g.save(&blockWriter{w: &b}); err != nil {
		panic(err)
	}
	return b.Bytes()
}

func TestAContentThatCannotBeIsRefusedByName(t *testing.T) {
	if err := New().Restore(bytes.NewReader(written(func(*frozen) {}))); err != nil {
		t.Fatal(err)
	}
	for text, change := range map[string]func(*frozen){
		"block 4: node 0: bad path":                 func(f *frozen) { f.nodes[0].Path = "/.." },
		"not in canonical form":                     func(f *frozen) { f.nodes[0].Path = "b//c" },
		"node 1: not in order":                      func(f *frozen) { f.nodes[1].Path = "/b/c" },
		"id 5 was never assigned; the last id is 4": func(f *frozen) { f.nodes[1].ID = 5 },
		"/b/c and /b/d have the same id 2":          func(f *frozen) { f.nodes[1].ID = 2 },
		"config version 0":                          func(f *frozen) { f.nodes[0].Version = 0 },
		"config version 99":                         func(f *frozen) { f.nodes[0].Version = 99 },
		"node 0: bad config":                        func(f *frozen) { f.nodes[0].Config.SelfCheckPeriodMillis = 1 },
		"since config version 3, and 2":             func(f *frozen) { f.nodes[0].Timing.Since = 3 },
		"its grace floor is 4999 ms":                func(f *frozen) { f.nodes[0].Timing.GraceFloorMillis = 4999 },
		"its grace floor is 30001 ms":               func(f *frozen) { f.nodes[0].Timing.GraceFloorMillis = 30001 },
		"its grace ceiling is 5001 ms":              func(f *frozen) { f.nodes[0].Timing.GraceCeilingMillis = 5001 },
		"its self-check ceiling is 2001 ms": func(f *frozen) {
			f.nodes[0].Timing.SelfCheckCeilingMillis = 2001
		},
		"ceiling of 2000 ms":                   func(f *frozen) { f.nodes[0].Timing.GraceCeilingMillis = 2000 },
		"block 3: host 0: a host id is needed": func(f *frozen) { f.hosts[0].ID = 0 },
		"host 1: not in order":                 func(f *frozen) { f.hosts[1].ID = 1 },
		"host 1 has the same name a":           func(f *frozen) { f.hosts[1].Name = "a" },
		"its state 4 is unknown":               func(f *frozen) { f.hosts[1].Target = 4 },
		"its state 0 is unknown":               func(f *frozen) { f.hosts[1].Current = protocol.HostUnknown },
		"it changed with version 99":           func(f *frozen) { f.hosts[1].Changed = 99 },
		"seen version 99":                      func(f *frozen) { f.hosts[1].Seen = 99 },
		"its timing changed with version 99":   func(f *frozen) { f.nodes[0].Timed = 99 },
		"block 5: dropped node 0: id 0":        func(f *frozen) { f.dropping[0].ID = 0 },
		"dropped with version 0":               func(f *frozen) { f.dropping[0].Version = 0 },
		"no data shard has to clear it":        func(f *frozen) { f.dropping[0].Pending = nil },
		"data shard 1 does not come after 3":   func(f *frozen) { f.dropping[0].Pending = []ShardID{3, 1} },
		"shard 4 is not a data shard":          func(f *frozen) { f.dropping[0].Pending = []ShardID{4} },
		"(/b/c) exists, but is being cleared":  func(f *frozen) { f.dropping[0].ID = 2 },
		"block 2: the slot table's version 99": func(f *frozen) { f.routing.Version = 99 },
		"version 0 is not empty":               func(f *frozen) { f.routing.Version = 0 },
		"the id of the cluster":                func(f *frozen) { f.routing.Cluster = "" },
		"0 data shards":                        func(f *frozen) { f.routing.Shards = nil },
		"data shard 2 does not come after 2":   func(f *frozen) { f.routing.Shards = []ShardID{1, 2, 2} },
	} {
		refused(t, written(change), text)
	}
}

func TestBlocksInTheWrongOrderAreRefused(t *testing.T) {
	src := saved(t, furnished())
	head, blocks := src[:headBytes], [][]byte{}
	for rest := src[headBytes:]; len(rest) > 0; {
		n := blockHeadBytes + int(binary.LittleEndian.Uint32(rest[1:])) + 4
		blocks = append(blocks, rest[:n])
		rest = rest[n:]
	}
	if len(blocks) != 6 {
		t.Fatalf("%d blocks", len(blocks))
	}
	counters, routing, hosts, nodes, dropping, end := blocks[0], blocks[1], blocks[2], blocks[3], blocks[4], blocks[5]
	block := func(kind blockKind, payload string) []byte {
		b := &blockWriter{w: io.Discard}
		b.open(kind)
		b.buf = append(b.buf, payload...)
		if b.close(); b.err != nil {
			t.Fatal(b.err)
		}
		return b.buf
	}
	huge := bytes.Clone(hosts)
	binary.LittleEndian.PutUint32(huge[1:], maxBlock+1)
	for text, list := range map[string][][]byte{
		"kind 2 does not follow kind 0":                {routing},
		"kind 6 does not follow kind 0":                {end},
		"kind 1 does not follow kind 1":                {counters, counters},
		"kind 3 does not follow kind 1":                {counters, hosts},
		"kind 3 does not follow kind 4":                {counters, routing, nodes, hosts},
		"block 3: kind 2 does not follow":              {counters, routing, routing},
		"counts 2 hosts, but the snapshot has 0":       {counters, routing, nodes, dropping, end},
		"counts 2 nodes, but the snapshot has 0":       {counters, routing, hosts, dropping, end},
		"the end block counts 2 dropped nodes":         {counters, routing, hosts, nodes, end},
		"host 2: not in order":                         {counters, routing, hosts, hosts, end},
		"the snapshot ends at block 6, before the end": {counters, routing, hosts, nodes, dropping},
		"block 1: kind 12 is unknown":                  {block(12, "")},
		"block 1: kind 0 is unknown":                   {block(0, "")},
		"block 1: 1 bytes stand behind":                {block(blockCounters, "\x01\x01\x01\x01\x00\x00\x00\x01")},
		"block 1: level 0":                             {block(blockCounters, "\x01\x01\x00")},
		"level 200; this build can follow":             {block(blockCounters, "\x01\x01\xc8")},
		"block 1: a number is cut off":                 {block(blockCounters, "\x01")},
		"block 2: a list of 9":                         {counters, block(blockRouting, "\x01\x01c\x09")},
		"block 3: host 0: a text of 9 bytes":           {counters, routing, block(blockHosts, "\x01\x09")},
		"block 3: length 1048577":                      {counters, routing, huge},
		"block 3: a number is cut off":                 {counters, routing, block(blockEnd, "\x00")},
	} {
		refused(t, bytes.Join(append([][]byte{head}, list...), nil), text)
	}
}

func TestSaveStopsWhenAsked(t *testing.T) {
	s, _ := furnished().PrepareSnapshot()
	defer s.Discard()
	stop := make(chan struct{})
	close(stop)
	if err := s.Save(io.Discard, stop); !errors.Is(err, shard.ErrSnapshotStopped) {
		t.Errorf("%v, want ErrSnapshotStopped", err)
	}
}

func TestSaveSaysThatTheWriterFailed(t *testing.T) {
	src := saved(t, furnished())
	full := errors.New("the disk is full")
	for room := range len(src) {
		s, _ := furnished().PrepareSnapshot()
		if err := s.Save(&narrow{room: room, err: full}, nil); !errors.Is(err, full) {
			t.Fatalf("with room for %d bytes: %v", room, err)
		}
		s.Discard()
	}
}

// narrow takes so many bytes and no more.
type narrow struct {
	room int
	err  error
}

func (n *narrow) Write(p []byte) (int, error) {
	if len(p) > n.room {
		return n.room, n.err
	}
	n.room -= len(p)
	return len(p), nil
}

func TestADiscardedSnapshotIsNotSaved(t *testing.T) {
	s, _ := furnished().PrepareSnapshot()
	s.Discard()
	s.Discard()
	if err := s.Save(io.Discard, nil); err == nil {
		t.Error("it was saved")
	}
}

// TestASnapshotIsTheStateAtPrepareWhileApplyGoesOn: one goroutine applies, others read and save the prepared snapshot
// between two batches, under the race detector. The restored state must be the state at PrepareSnapshot.
func TestASnapshotIsTheStateAtPrepareWhileApplyGoesOn(t *testing.T) {
	m := bootstrapped(3)
	g := newCommands(7)
	var wg sync.WaitGroup
	defer wg.Wait()
	done := make(chan struct{})
	defer close(done)
	wg.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
			}
			m.Nodes("/", "/b", 10)
			m.Node("/a")
			m.NodeAlive(3)
			m.Dropping(0, 10)
			m.Hosts()
			m.Routing()
			m.Digest()
		}
	})
	var out Effects
	for range 40 {
		for range 20 {
			m.Apply(&Batch{Stamp: clock.Stamp{Term: m.clock.Term}, Commands: g.some(10, m)}, &out)
			out.Reset()
		}
		want := m.State()
		s, err := m.PrepareSnapshot()
		if err != nil {
			t.Fatal(err)
		}
		wg.Go(func() {
			defer s.Discard()
			var b bytes.Buffer
			if err := s.Save(&b, nil); err != nil {
				t.Error(err)
				return
			}
			r := New()
			if err := r.Restore(&b); err != nil {
				t.Error(err)
				return
			}
			if got := r.State(); !reflect.DeepEqual(got, want) {
				t.Errorf("restored\n%+v\nprepared\n%+v", got, want)
			}
		})
	}
}

func FuzzRestore(f *testing.F) {
	f.Add(saved(f, New()))
	f.Add(saved(f, bootstrapped(3)))
	f.Add(saved(f, furnished()))
	m := grown(f)
	run(m, by(1, 1, 1, create("/a", Config{})), by(2, 1, 1, drop("/none")), by(1, 2, 2, drop("/a")))
	f.Add(saved(f, m))
	f.Add(saved(f, furnishedTopology(f).Machine))
	f.Add([]byte(snapshotMagic))
	f.Fuzz(func(t *testing.T, src []byte) {
		m := New()
		for _, b := range [][]byte{src, sealed(src)} {
			if err := m.Restore(bytes.NewReader(b)); err != nil {
				if !errors.Is(err, ErrSnapshot) {
					t.Fatalf("%v is not an ErrSnapshot", err)
				}
				if m.Version() != 0 || m.NodeCount() != 0 {
					t.Fatal("a refused snapshot changed the machine")
				}
				continue
			}
			mustEqual(t, copyOf(t, m), m)
			run(m, create("/fuzz", Config{}), drop("/fuzz"), bootstrap(1), register(host(1, "a")))
			if c := (&cluster{TB: t, Machine: m}); m.Bootstrapped() {
				for _, h := range m.Hosts() {
					c.ask(&HostExpel{Host: h.Name, Force: true})
					c.ask(&HostReach{Term: m.Clock().Term, Host: h.ID, Variant: h.Target})
				}
				c.ask(&ReplicasKnown{Term: m.Clock().Term, Change: 1 << 40, Members: votersOf(1)})
			}
			mustEqual(t, copyOf(t, m), m)
			m = New()
		}
	})
}

// sealed fixes the checksums of any content, so that fuzzing gets past them.
func sealed(src []byte) []byte {
	b := bytes.Clone(src)
	if len(b) < headBytes {
		return b
	}
	seal := func(part []byte) {
		n := len(part) - 4
		binary.LittleEndian.PutUint32(part[n:], crc32.Checksum(part[:n], castagnoli))
	}
	copy(b, snapshotMagic)
	seal(b[:headBytes])
	for rest := b[headBytes:]; len(rest) >= blockHeadBytes+4; {
		n := min(blockHeadBytes+int(binary.LittleEndian.Uint32(rest[1:]))+4, len(rest))
		seal(rest[:n])
		rest = rest[n:]
	}
	return b
}
