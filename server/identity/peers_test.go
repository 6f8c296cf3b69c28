package identity

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/signalbox/signalbox/shard/hosts"
)

func openPeers(t *testing.T, d *Directory) *Peers {
	t.Helper()
	p, err := d.OpenPeers()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestAnOlderCopyOfADirectoryIsRecognised(t *testing.T) {
	d := claim(t, t.TempDir())
	a, b := hosts.Incarnation{1}, hosts.Incarnation{2}
	peers := openPeers(t, d)
	for i, c := range []struct {
		of    hosts.Incarnation
		start hosts.Start
		copy  bool
	}{
		{a, hosts.Start{Number: 3, Draw: 33}, false},
		{a, hosts.Start{Number: 3, Draw: 33}, false}, // its second connection
		{a, hosts.Start{Number: 3, Draw: 34}, true},  // two processes with one number
		{a, hosts.Start{Number: 2, Draw: 22}, true},
		{b, hosts.Start{Number: 1, Draw: 11}, false}, // incarnations are independent
		{a, hosts.Start{Number: 4, Draw: 44}, false},
		{a, hosts.Start{Number: 3, Draw: 33}, true},
	} {
		for _, which := range []string{"the same process", "the next one"} {
			if err := peers.See(c.of, c.start); errors.Is(err, ErrCopy) != c.copy || err != nil != c.copy {
				t.Errorf("%d, %s: start %+v of %s: %v", i, which, c.start, c.of, err)
			}
			peers = openPeers(t, d)
		}
	}
	if err := peers.Forget(a); err != nil {
		t.Fatal(err)
	}
	if err := openPeers(t, d).See(a, hosts.Start{Number: 1}); err != nil {
		t.Errorf("forgotten, and remembered: %v", err)
	}
}

func TestAStartThatCannotBeWrittenDownIsNotLetIn(t *testing.T) {
	dir := t.TempDir()
	peers := openPeers(t, claim(t, dir))
	if err := os.Mkdir(filepath.Join(dir, PeersName+temporarySuffix), 0o700); err != nil {
		t.Fatal(err)
	}
	start := hosts.Start{Number: 2, Draw: 1}
	for range 2 {
		if err := peers.See(hosts.Incarnation{1}, start); err == nil || errors.Is(err, ErrCopy) {
			t.Errorf("got %v", err)
		}
	}
	if err := os.Remove(filepath.Join(dir, PeersName+temporarySuffix)); err != nil {
		t.Fatal(err)
	}
	if err := peers.See(hosts.Incarnation{1}, start); err != nil {
		t.Error(err)
	}
}

func TestADamagedRecordOfPeersIsNotTakenForAnEmptyOne(t *testing.T) {
	dir := t.TempDir()
	d := claim(t, dir)
	peers := openPeers(t, d)
	for i := range byte(5) {
		if err := peers.See(hosts.Incarnation{i + 1}, hosts.Start{Number: uint64(i) + 1, Draw: 99}); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(filepath.Join(dir, PeersName))
	if err != nil {
		t.Fatal(err)
	}
	for n := range len(strings.TrimRight(string(text), "\n")) {
		put(t, dir, PeersName, text[:n])
		if _, err := d.OpenPeers(); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "or delete it") {
			t.Fatalf("%d of %d bytes: %v", n, len(text), err)
		}
	}
	put(t, dir, PeersName, []byte(strings.Replace(string(text), `"number": 3`, `"number": 2`, 1)))
	if _, err := d.OpenPeers(); !errors.Is(err, ErrDamaged) {
		t.Errorf("with another number: %v", err)
	}
}

// TestTheNewestStartWinsWhateverTheOrder: many connections from hosts that restart repeatedly.
func TestTheNewestStartWinsWhateverTheOrder(t *testing.T) {
	d := claim(t, t.TempDir())
	peers := openPeers(t, d)
	var all sync.WaitGroup
	for worker := range uint64(4) {
		all.Go(func() {
			r := rand.New(rand.NewPCG(1, worker))
			for range 20 {
				_ = peers.See(hosts.Incarnation{byte(1 + r.IntN(2))}, hosts.Start{Number: 1 + r.Uint64N(9), Draw: 5})
			}
			_ = peers.See(hosts.Incarnation{1}, hosts.Start{Number: 10, Draw: worker})
		})
	}
	all.Wait()
	let := 0
	again := openPeers(t, d)
	for draw := range uint64(4) {
		if again.See(hosts.Incarnation{1}, hosts.Start{Number: 10, Draw: draw}) == nil {
			let++
		}
	}
	if let != 1 {
		t.Errorf("%d of four processes with one number are let in", let)
	}
}

// TestWhatHostsConfirmedIsRemembered: as long as hosts may return, across later starts, and readable for a build that
// knows only start numbers.
func TestWhatHostsConfirmedIsRemembered(t *testing.T) {
	d := claim(t, t.TempDir())
	a, stranger := hosts.Incarnation{1}, hosts.Incarnation{9}
	want := []hosts.Position{{Shard: 0, Replica: 1, Term: 2, Last: 30}, {Shard: 4, Replica: 1030, Term: 1, Last: 7}}
	peers := openPeers(t, d)
	all := map[hosts.Incarnation][]hosts.Position{a: want, stranger: want}
	if err := errors.Join(peers.See(a, hosts.Start{Number: 3, Draw: 33}), peers.Confirm(all)); err != nil {
		t.Fatal(err)
	}
	written, err := os.Stat(filepath.Join(d.path, PeersName))
	if err != nil {
		t.Fatal(err)
	}
	if err := peers.Confirm(all); err != nil {
		t.Fatal(err)
	}
	if again, err := os.Stat(filepath.Join(d.path, PeersName)); err != nil || !os.SameFile(written, again) {
		t.Errorf("what is known is written again: %v", err)
	}
	if err := peers.See(a, hosts.Start{Number: 4, Draw: 44}); err != nil {
		t.Fatal(err)
	}
	peers = openPeers(t, d)
	if got := peers.Confirmed(a); !slices.Equal(got, want) || peers.Newest(a).Number != 4 {
		t.Errorf("%v after start %v", got, peers.Newest(a))
	}
	if got := peers.Confirmed(stranger); got != nil {
		t.Errorf("of a host that was never let in: %v", got)
	}
	earlier := make(map[hosts.Incarnation]hosts.Start)
	if err := readRecord(d.path, PeersName, &earlier); err != nil || earlier[a].Draw != 44 {
		t.Errorf("a build that knows of starts alone reads %v, %v", earlier, err)
	}
	if err := peers.Forget(a); err != nil || openPeers(t, d).Confirmed(a) != nil {
		t.Errorf("forgotten, and remembered: %v", err)
	}
}
