package cluster

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/signalbox/signalbox/protocol"
)

// listed is a cluster whose slots move before every page of a list, and a client with an old routing.
type listed struct {
	random  *rand.Rand
	shards  int
	owner   [protocol.Slots]uint64
	known   [protocol.Slots]uint64 // the client's routing
	names   map[string]uint16      // with their slots
	reads   int
	mistake string
	fails   error // of a later page
}

func newListed(seed uint64, mistake string) *listed {
	l := &listed{random: rand.New(rand.NewPCG(seed, 0)), names: make(map[string]uint16), mistake: mistake}
	l.shards = 1 + l.random.IntN(8)
	for slot := range l.owner {
		l.owner[slot] = uint64(1 + slot*l.shards/protocol.Slots)
	}
	l.known = l.owner
	return l
}

func (l *listed) add(name string) { l.names[name] = protocol.SemaphoreSlot(1, []byte(name)) }

func (l *listed) move(n int) {
	for range n {
		slot := protocol.SemaphoreSlot(1, fmt.Appendf(nil, "%04d", l.random.IntN(1000)))
		l.owner[slot] = uint64(1 + l.random.IntN(l.shards))
	}
}

// read answers as the host that has the first slot.
func (l *listed) read(p Part[string]) (page Page[string, string], missing []uint16, err error) {
	l.move(l.random.IntN(20))
	if l.reads++; l.reads == 50 && l.fails != nil {
		return page, nil, l.fails
	}
	var asked [protocol.Slots]bool
	first, any := uint16(0), false
	for r := range p.Slots.Slots.All() {
		for slot := uint16(r.First); slot <= uint16(r.Last); slot++ {
			if !any {
				first, any = slot, true
			}
			asked[slot] = true
		}
	}
	shard := l.owner[first]
	if l.random.IntN(2) == 0 {
		l.known[first] = shard // a redirect; otherwise the host has replicas of both shards
	}
	var all []string
	for name, slot := range l.names {
		if l.owner[slot] == shard && name > p.After {
			all = append(all, name)
		}
	}
	slices.Sort(all)
	if n := 1 + l.random.IntN(20); n < len(all) {
		all = all[:n]
		page.Next = all[n-1]
	}
	for _, name := range all {
		if asked[l.names[name]] || l.mistake == "slots that were not asked" {
			page.Items = append(page.Items, name)
		}
	}
	for slot := range uint16(protocol.Slots) {
		if asked[slot] && l.owner[slot] != shard && l.mistake != "no missing slots" {
			missing = append(missing, slot)
		}
	}
	return page, missing, nil
}

// list lists all names, while other names come and go.
func (l *listed) list(after string) (names []string, err error) {
	of := lister[string, string]{
		key: strings.Clone, shardAt: func(slot uint16) uint64 { return l.known[slot] }, read: l.read,
		stale: func() {
			if l.random.IntN(3) == 0 {
				l.known = l.owner
			}
		},
	}
	for name, err := range of.list(after) {
		if err != nil {
			return names, err
		}
		names = append(names, name)
		if brief := fmt.Sprintf("%04d-brief", l.random.IntN(1000)); l.random.IntN(2) == 0 {
			l.add(brief)
		} else {
			delete(l.names, brief)
		}
	}
	return names, nil
}

// check lists names, and returns what is wrong with the list.
func (l *listed) check() error {
	var want []string
	after := ""
	for range l.random.IntN(600) {
		name := fmt.Sprintf("%04d", l.random.IntN(1000))
		l.add(name)
		want = append(want, name)
	}
	slices.Sort(want)
	want = slices.Compact(want)
	if len(want) > 0 && l.random.IntN(2) == 0 {
		at := l.random.IntN(len(want))
		after, want = want[at], want[at+1:]
	}
	got, err := l.list(after)
	if err != nil {
		return err
	}
	for i := 1; i < len(got); i++ {
		if got[i] <= got[i-1] {
			return fmt.Errorf("%s after %s", got[i], got[i-1])
		}
	}
	lasting := slices.DeleteFunc(got, func(name string) bool { return strings.HasSuffix(name, "brief") })
	if !slices.Equal(lasting, want) {
		return fmt.Errorf("listed %v, not %v", lasting, want)
	}
	return nil
}

// TestAListIsCompleteWhileSlotsMove: names that exist throughout are listed once, and sorted.
func TestAListIsCompleteWhileSlotsMove(t *testing.T) {
	for seed := range uint64(30) {
		if err := newListed(seed, "").check(); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
}

// TestMistakesInListsAreNoticed plants mistakes into the hosts' answers.
func TestMistakesInListsAreNoticed(t *testing.T) {
	for _, mistake := range []string{"slots that were not asked", "no missing slots"} {
		noticed := false
		for seed := uint64(0); seed < 20 && !noticed; seed++ {
			noticed = newListed(seed, mistake).check() != nil
		}
		if !noticed {
			t.Errorf("nobody noticed: %s", mistake)
		}
	}
}

// TestAMoveCostsAListAFewRequests: after a move, a list reads the slot together with the other slots of its next shard.
func TestAMoveCostsAListAFewRequests(t *testing.T) {
	const pages, moves = 100, 50
	l := newListed(1, "")
	l.move(2000)
	known := l.owner
	of := lister[int, int]{
		key: func(i int) int { return i }, shardAt: func(slot uint16) uint64 { return known[slot] },
		read: func(p Part[int]) (page Page[int, int], missing []uint16, err error) {
			if l.reads++; l.reads%l.shards == 0 && l.reads/l.shards <= moves {
				l.move(1)
			}
			first := true
			var shard uint64
			for r := range p.Slots.Slots.All() {
				for slot := uint16(r.First); slot <= uint16(r.Last); slot++ {
					if first {
						first, shard = false, l.owner[slot]
						known[slot] = shard
					} else if l.owner[slot] != shard {
						missing = append(missing, slot)
					}
				}
			}
			if p.After < pages-1 {
				page.Next = p.After + 1
			}
			return page, missing, nil
		},
		stale: func() {},
	}
	for range of.list(0) {
		t.Error("an item")
	}
	if l.shards < 4 || l.reads < pages*l.shards || l.reads > pages*l.shards+3*moves {
		t.Errorf("%d reads of %d shards", l.reads, l.shards)
	}
}

// TestAListEndsWithTheErrorOfAShard: what other shards have must not look like a complete list.
func TestAListEndsWithTheErrorOfAShard(t *testing.T) {
	l := newListed(3, "")
	l.fails = errors.New("cut off")
	for i := range 1000 {
		l.add(fmt.Sprintf("%04d", i))
	}
	if names, err := l.list(""); err != l.fails || len(names) == 0 || len(names) == 1000 {
		t.Errorf("%d names, and %v", len(names), err)
	}
}
