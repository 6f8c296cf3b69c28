package raftlog

import (
	"errors"
	"testing"
	"time"

	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/hosts"
	"github.com/signalbox/signalbox/shard/raftlog/transport"
)

func TestAHostNeedsAnIDAnIncarnationAndADirectoryOnly(t *testing.T) {
	if err := (Config{Host: 1, Incarnation: incarnationOf(1), DataDir: "x"}).Validate(); err != nil {
		t.Error(err)
	}
}

func TestValidateRefusesWhatMakesNoSense(t *testing.T) {
	good := Config{
		Host: 1, Incarnation: incarnationOf(1), DataDir: "x", Deployment: 1, InitialMembers: initialMembersOf(3),
	}
	if err := good.Validate(); err != nil {
		t.Fatal(err)
	}
	of := func(i transport.Identity) func(*Config) {
		peers := transport.Open(transport.Config{Identity: i})
		t.Cleanup(func() { peers.Close() })
		return func(c *Config) { c.Transport = peers }
	}
	for name, change := range map[string]func(*Config){
		"no host":                     func(c *Config) { c.Host = 0 },
		"host too large":              func(c *Config) { c.Host = MaxHostID + 1 },
		"no directory":                func(c *Config) { c.DataDir = "" },
		"no incarnation":              func(c *Config) { c.Incarnation = hosts.Incarnation{} },
		"another initial member's id": func(c *Config) { c.Host = 2 },
		"initial member zero": func(
			c *Config) {
			c.InitialMembers = map[shard.HostID]hosts.Incarnation{0: {1}}
		},
		"an initial member that joined": func(
			c *Config) {
			c.InitialMembers = map[shard.HostID]hosts.Incarnation{1024: {1}}
		},
		"another host's transport": of(transport.Identity{Host: 2, Incarnation: incarnationOf(2), Deployment: 1}),
		"another incarnation's":    of(transport.Identity{Host: 1, Incarnation: incarnationOf(2), Deployment: 1}),
		"another deployment's":     of(transport.Identity{Host: 1, Incarnation: incarnationOf(1), Deployment: 2}),
		"no deployment": func(c *Config) {
			of(transport.Identity{Host: 1, Incarnation: incarnationOf(1)})(c)
			c.Deployment = 0
		},
		"tick of microseconds":     func(c *Config) { c.Tick = 1500 * time.Microsecond },
		"tick too long":            func(c *Config) { c.Tick = time.Minute },
		"negative tick":            func(c *Config) { c.Tick = -time.Millisecond },
		"election too soon":        func(c *Config) { c.ElectionTicks, c.HeartbeatTicks = 4, 2 },
		"impatient proposals":      func(c *Config) { c.ProposalTimeout = 10 * time.Millisecond },
		"impatient barriers":       func(c *Config) { c.BarrierTimeout = 10 * time.Millisecond },
		"too many in flight":       func(c *Config) { c.MaxInFlight = 2000 },
		"negative bytes":           func(c *Config) { c.MaxInFlightBytes = -1 },
		"negative snapshots":       func(c *Config) { c.SnapshotBytes = -1 },
		"negative bytes kept":      func(c *Config) { c.KeepBytes = -1 },
		"too many workers":         func(c *Config) { c.Workers = MaxWorkers + 1 },
		"negative proposal limit":  func(c *Config) { c.MaxInFlight = -1 },
		"too many initial members": func(c *Config) { c.InitialMembers = initialMembersOf(MaxInitialMembers + 1) },
	} {
		t.Run(name, func(t *testing.T) {
			c := good
			change(&c)
			if err := c.Validate(); !errors.Is(err, ErrConfig) {
				t.Errorf("got %v, want ErrConfig", err)
			}
		})
	}
}

// TestElectionsTakeAsLongWithOtherTicks: 300 ms at the least, and six ticks to draw from.
func TestElectionsTakeAsLongWithOtherTicks(t *testing.T) {
	for tick, want := range map[time.Duration]int{time.Millisecond: 300, 20 * time.Millisecond: 15,
		40 * time.Millisecond: 8, DefaultTick: 6, 250 * time.Millisecond: 6} {
		if got := ElectionTicks(tick); got != want {
			t.Errorf("%v: %d ticks, want %d", tick, got, want)
		}
	}
}
