package host

import (
	"testing"

	"github.com/signalbox/signalbox/server"
	"github.com/signalbox/signalbox/server/settings"
	"github.com/signalbox/signalbox/shard/meta"
	"github.com/signalbox/signalbox/shard/raftlog"
)

// TestTheSettingsKnowTheLimitsOfTheHost: settings repeat limits from packages that they do not import.
func TestTheSettingsKnowTheLimitsOfTheHost(t *testing.T) {
	for name, c := range map[string]struct{ settings, limit any }{
		"shards":             {settings.MaxShards, server.MaxShards},
		"name of a host":     {settings.MaxHostName, meta.MaxHostName},
		"address":            {settings.MaxAddress, meta.MaxAddress},
		"requests in flight": {settings.DefaultMaxRequestsInFlight, server.DefaultRequestsInFlight},
		"watches":            {settings.DefaultMaxWatches, server.DefaultWatches},
		"ping interval":      {settings.DefaultPingInterval, server.DefaultPingInterval},
		"tick":               {settings.DefaultRaftHeartbeatInterval, raftlog.DefaultTick},
	} {
		if c.settings != c.limit {
			t.Errorf("%s: the settings have %v, the host has %v", name, c.settings, c.limit)
		}
	}
}
