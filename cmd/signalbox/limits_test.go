package main

import (
	"testing"

	"github.com/signalbox/signalbox/server"
	"github.com/signalbox/signalbox/server/settings"
	"github.com/signalbox/signalbox/shard/meta"
	"github.com/signalbox/signalbox/shard/raftlog"
)

// What the settings promise is for others to keep. They are checked against each other here, where all of
// them are known.
func TestTheSettingsKnowTheLimitsOfTheHost(t *testing.T) {
	for name, c := range map[string]struct{ said, held any }{
		"shards":             {settings.MaxShards, server.MaxShards},
		"hosts":              {settings.MaxHosts, raftlog.MaxHosts},
		"name of a host":     {settings.MaxHostName, meta.MaxHostName},
		"address":            {settings.MaxAddress, meta.MaxAddress},
		"requests in flight": {settings.DefaultRequestsInFlight, server.DefaultRequestsInFlight},
		"watches":            {settings.DefaultWatches, server.DefaultWatches},
		"ping interval":      {settings.DefaultPingInterval, server.DefaultPingInterval},
		"tick":               {settings.DefaultRaftTick, raftlog.DefaultTick},
		"snapshots":          {settings.DefaultRaftSnapshotBatches, raftlog.DefaultSnapshotEntries},
		"batches kept":       {keptBatches(settings.DefaultRaftSnapshotBatches), raftlog.DefaultKeepEntries},
	} {
		if c.said != c.held {
			t.Errorf("%s: the settings say %v, the host has %v", name, c.said, c.held)
		}
	}
	if len(programVersion()) > meta.MaxHostVersion {
		t.Errorf("version %s", programVersion())
	}
}
