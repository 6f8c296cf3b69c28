package server

import (
	"errors"
	"strings"
	"testing"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/shard/meta"
)

// TestAHostDoesNotGoWithBuildsThatWriteAnotherForm: a host that finds such a host online ends before the other one gets
// something that it cannot read. One that is away is judged when it starts, and holds no other up until then.
func TestAHostDoesNotGoWithBuildsThatWriteAnotherForm(t *testing.T) {
	other := meta.Host{ID: 2, Name: "b", Level: 4, Version: "v0.9.0", Current: protocol.HostOnline}
	linked, newer, away, old := other, other, other, other
	linked.Version = "v1.0.0+level4"
	newer.Level = 5
	away.Current = protocol.HostOffline
	old.Level = 3
	for _, c := range []struct {
		host meta.Host
		fits bool
	}{{other, false}, {linked, true}, {newer, true}, {away, true}, {old, true}} {
		err := goesWith(1, []meta.Host{{ID: 1, Level: level.Newest, Current: protocol.HostOnline}, c.host})
		if (err == nil) != c.fits {
			t.Errorf("%+v: %v", c.host, err)
		}
		if err != nil && (!errors.Is(err, ErrRefused) || !errors.Is(err, level.ErrUnsettled) ||
			!strings.Contains(err.Error(), "host b is online: version v0.9.0")) {
			t.Errorf("%+v: %v", c.host, err)
		}
		if err := goesWith(2, []meta.Host{c.host}); err != nil {
			t.Errorf("a host alone: %v", err)
		}
	}
}
