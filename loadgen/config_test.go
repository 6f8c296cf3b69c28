package loadgen

import (
	"context"
	"net"
	"testing"
	"time"
)

func TestWhatIsWrongWithAConfigIsReported(t *testing.T) {
	for _, x := range []struct {
		change func(*Config)
		says   string
	}{
		{func(c *Config) { c.Workload = "nothing" }, `no workload "nothing"; there are echo, lock`},
		{func(c *Config) { c.Callers = -1 }, "-1 callers"},
		{func(c *Config) { c.Duration = -time.Second }, "must not be negative"},
		{func(c *Config) { c.Rate = -5 }, "-5 operations a second"},
		{func(c *Config) { c.Workload, c.Rate = "idle", 10 }, "idle does nothing"},
		{func(c *Config) { c.Payload = 3 }, "the checks need 8"},
		{func(c *Config) { c.Hosts = 2 }, "the number can be 1 or 3"},
		{func(c *Config) { c.Node = "jobs" }, "paths begin with /"},
		{func(c *Config) { c.Weights = map[string]int{"echo": 1} }, "weights are for the workload mixed"},
		{func(c *Config) { c.Workload, c.Weights = "mixed", map[string]int{"idle": 1} }, `"idle" cannot be mixed; choose from echo`},
		{func(c *Config) { c.Workload, c.Weights = "mixed", map[string]int{"lock": 0} }, "lock has weight 0"},
		{func(c *Config) {
			c.Dialer = func(context.Context, string) (net.Conn, error) { return nil, errTest }
		}, "a dialer without endpoints"},
		{func(c *Config) { c.Workload, c.Callers, c.Workers = "discovery", 8, 4 }, "there must be a worker for each"},
	} {
		c := Config{Workload: "lock"}
		x.change(&c)
		wantError(t, c.Validate(), x.says)
	}
}

func TestDefaultsAreThoseOfTheWorkload(t *testing.T) {
	for _, x := range []struct {
		give, want Config
	}{
		{Config{Workload: "lock"}, Config{Callers: 64, Connections: 1}},
		{Config{Workload: "lock", Callers: 512}, Config{Callers: 512, Connections: 4}},
		{Config{Workload: "handoff"}, Config{Callers: 32, Connections: 1}},
		{Config{Workload: "idle", Callers: 300}, Config{Callers: 300, Sessions: 300, Connections: 100}},
		{Config{Workload: "idle", Sessions: 20}, Config{Callers: 20, Sessions: 20, Connections: 20}},
		{Config{Workload: "watch"}, Config{Callers: 1, Watchers: 1000, Connections: 10}},
		{Config{Workload: "discovery", Watchers: 30}, Config{Callers: 16, Watchers: 30, Connections: 30}},
		{Config{Workload: "config", Callers: 5}, Config{Callers: 5, Watchers: 5, Connections: 1}},
	} {
		got, err := x.give.complete()
		check(t, err)
		if got.Callers != x.want.Callers || got.Connections != x.want.Connections ||
			got.Watchers != x.want.Watchers || got.Sessions != x.want.Sessions {
			t.Errorf("%s: %d callers, %d connections, %d watchers, %d sessions; want %+v",
				x.give.Workload, got.Callers, got.Connections, got.Watchers, got.Sessions, x.want)
		}
	}
}
