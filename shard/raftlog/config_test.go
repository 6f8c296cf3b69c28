package raftlog

import (
	"errors"
	"testing"
	"time"

	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/raftlog/transport"
)

func TestAHostNeedsAnIDAndADirectoryOnly(t *testing.T) {
	if err := (Config{Host: 1, DataDir: "x"}).Validate(); err != nil {
		t.Error(err)
	}
}

func TestValidateRefusesWhatMakesNoSense(t *testing.T) {
	good := Config{
		Host: 1, DataDir: "x", Deployment: 1,
		Members: map[shard.HostID]string{1: "a.example:7421", 2: "10.0.0.2:7421", 3: "[::1]:7421"},
	}
	if err := good.Validate(); err != nil {
		t.Fatal(err)
	}
	members := func(address string) func(*Config) {
		return func(c *Config) { c.Members = map[shard.HostID]string{1: "a.example:1", 2: address} }
	}
	for name, change := range map[string]func(*Config){
		"no host":                 func(c *Config) { c.Host = 0 },
		"host too large":          func(c *Config) { c.Host = MaxHostID + 1 },
		"no directory":            func(c *Config) { c.DataDir = "" },
		"not a member":            func(c *Config) { c.Host = 4 },
		"no members":              func(c *Config) { c.Members = map[shard.HostID]string{} },
		"no deployment":           func(c *Config) { c.Deployment = 0 },
		"address without port":    members("b.example"),
		"address without host":    members(":1"),
		"port zero":               members("b.example:0"),
		"port by name":            members("b.example:http"),
		"two at one address":      members("a.example:1"),
		"bad listen address":      func(c *Config) { c.ListenAddress = "nowhere" },
		"TLS without key":         func(c *Config) { c.TLS = &transport.TLS{CAFile: "ca", CertFile: "cert"} },
		"tick of microseconds":    func(c *Config) { c.Tick = 1500 * time.Microsecond },
		"tick too long":           func(c *Config) { c.Tick = time.Minute },
		"negative tick":           func(c *Config) { c.Tick = -time.Millisecond },
		"election too soon":       func(c *Config) { c.ElectionTicks, c.HeartbeatTicks = 4, 2 },
		"impatient proposals":     func(c *Config) { c.ProposalTimeout = 10 * time.Millisecond },
		"impatient barriers":      func(c *Config) { c.BarrierTimeout = 10 * time.Millisecond },
		"too many in flight":      func(c *Config) { c.MaxInFlight = 2000 },
		"negative bytes":          func(c *Config) { c.MaxInFlightBytes = -1 },
		"negative snapshots":      func(c *Config) { c.SnapshotEntries = -1 },
		"negative entries kept":   func(c *Config) { c.KeepEntries = -1 },
		"too many workers":        func(c *Config) { c.Workers = MaxWorkers + 1 },
		"negative proposal limit": func(c *Config) { c.MaxInFlight = -1 },
		"too many members": func(c *Config) {
			c.Members = map[shard.HostID]string{1: "a.example:1"}
			for id := shard.HostID(2); len(c.Members) <= MaxHosts; id++ {
				c.Members[id] = "10.0.0.1:" + time.Duration(id).String()
			}
		},
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
