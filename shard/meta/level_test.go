package meta

import (
	"errors"
	"strings"
	"testing"

	"github.com/signalbox/signalbox/protocol"
	kind "github.com/signalbox/signalbox/protocol/host"
	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/protocol/level/leveltest"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/hosts"
)

// TestEverythingHasItsLevel: each command and each field of what the machine keeps has a row in protocol/level/table.go
// that says which level brings it.
func TestEverythingHasItsLevel(t *testing.T) {
	have := map[level.Kind][]string{
		level.MetaCommand: leveltest.Named(commandNames[:]),
		level.MetaRecord: leveltest.Fields(State{}, Routing{}, SlotRange{}, Host{}, Node{}, Config{}, Timing{},
			Dropped{}, Answer{}, Numbered{}, HostSeen{}),
	}
	if n := leveltest.Constants(t, "CommandKind"); n != len(have[level.MetaCommand]) {
		t.Errorf("%d kinds of commands have a number, %d have a name", n, len(have[level.MetaCommand]))
	}
	leveltest.Check(t, have)
}

func TestWhatIsAboveTheLevelIsRefusedWithoutBeingDecoded(t *testing.T) {
	garbage := "\xff\xff\xff"
	src := "\x02" + strings.Repeat("\x00", 16) + "\x01" +
		string(rune(level.First+1)) + string(rune(len(garbage))) + garbage
	m := furnished()
	before := m.Digest()
	var b Batch
	if err := DecodeBatch([]byte(src), &b, level.First); err != nil {
		t.Fatal(err)
	}
	var out Effects
	m.Apply(&b, &out)
	if len(out.List) != 1 || out.List[0].Status != protocol.StatusUnsupported || m.Digest() != before {
		t.Errorf("%+v", out.List)
	}
	at := "\x02" + strings.Repeat("\x00", 16) + "\x01\x01" + string(rune(len(garbage))) + garbage
	if err := DecodeBatch([]byte(at), &b, level.First); !errors.Is(err, shard.ErrNewerFormat) {
		t.Errorf("at its level: %v", err)
	}
}

func TestWhoHoldsTheLevelIsNamed(t *testing.T) {
	m := New()
	if lowest, holders := m.LevelHolders(); lowest != 0 || len(holders) != 0 {
		t.Errorf("%d, %v", lowest, holders)
	}
	for id, at := range map[shard.HostID]level.Level{1: 7, 2: 5, 3: 5} {
		h := host(id, string(rune('a'+id-1)))
		h.Level = at
		ok(t, m, register(h))
	}
	lowest, holders := m.LevelHolders()
	if lowest != 5 || len(holders) != 2 || holders[0].ID != 2 || holders[1].ID != 3 {
		t.Errorf("%d, %+v", lowest, holders)
	}
	m.hosts.get(2).Current, m.hosts.get(3).Current = protocol.HostExpelled, protocol.HostExpelled
	if lowest, holders := m.LevelHolders(); lowest != 7 || len(holders) != 1 {
		t.Errorf("expelled hosts hold nothing: %d, %+v", lowest, holders)
	}
}

// TestAPolicyForSomeHostsNeedsItsLevel: a policy that places shards on every host stays at the first level of policies.
func TestAPolicyForSomeHostsNeedsItsLevel(t *testing.T) {
	all := hosts.DefaultPolicy()
	some := all
	some.Replicas = 3
	for _, x := range []struct {
		from, to kind.Policy
		at       level.Level
	}{{all, all, TopologyLevel}, {all, some, hosts.SpreadLevel}, {some, all, hosts.SpreadLevel}} {
		c := NewCommand(&PolicySet{From: x.from, To: x.to}, Origin{})
		if got := LevelOf(&c); got != x.at {
			t.Errorf("%+v: level %d", x, got)
		}
		if x.at > level.Newest {
			continue
		}
		src, err := AppendBatch(nil, &Batch{Commands: []Command{c}})
		if err != nil {
			t.Fatal(err)
		}
		var b Batch
		err = DecodeBatch(src, &b, x.at)
		if err != nil || *b.Commands[0].Request.(*PolicySet) != (PolicySet{x.from, x.to}) {
			t.Errorf("%+v: read as %+v, %v", x, b.Commands, err)
		}
		if err := DecodeBatch(src, &b, x.at-1); err != nil || b.Commands[0].Request != nil {
			t.Errorf("%+v: read below its level as %+v, %v", x, b.Commands, err)
		}
	}
}
