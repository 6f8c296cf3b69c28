package meta

import (
	"errors"
	"strings"
	"testing"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/shard"
)

func TestWhatIsAboveTheLevelIsRefusedWithoutBeingDecoded(t *testing.T) {
	garbage := "\xff\xff\xff"
	src := "\x01" + strings.Repeat("\x00", 16) + "\x01\x00" +
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
	at := "\x01" + strings.Repeat("\x00", 16) + "\x01\x00\x01" + string(rune(len(garbage))) + garbage
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
