package server_test

import (
	"bytes"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox/signalbox/server/servertest"
	"github.com/signalbox/signalbox/shard"
)

// metricsOf returns a host's metrics page.
func metricsOf(c *servertest.Cluster, id shard.HostID) string {
	var out bytes.Buffer
	c.Host(id).WriteMetrics(&out)
	return out.String()
}

// TestTheGovernorShowsWhatTheClusterCanLose: with all hosts, without one, without two. Other hosts show that they do
// not govern.
func TestTheGovernorShowsWhatTheClusterCanLose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := servertest.Start(t, servertest.Hosts(3))
		id := follower(c, 1)
		isOnline(t, c, id, 1)
		governor := c.Leader(0)
		shows := func(want ...string) func() bool {
			return func() bool {
				text := metricsOf(c, governor)
				for _, line := range want {
					if !strings.Contains(text, line) {
						return false
					}
				}
				return true
			}
		}
		eventually(t, time.Minute, "all is well", shows("signalbox_governor 1\n",
			`signalbox_hosts{state="online"} 3`+"\n",
			`signalbox_host_replicas{host="host-3"} 1`+"\n", `signalbox_shard_voters{shard="0"} 3`+"\n",
			`signalbox_shard_voters_desired{shard="1"} 3`+"\n",
			`signalbox_shard_voters_live{shard="1"} 3`+"\n", `signalbox_shard_failure_tolerance{shard="1"} 1`+"\n",
			"signalbox_governor_open_steps 0\n", "signalbox_governor_failing_steps 0\n"))
		for line := range strings.Lines(metricsOf(c, governor)) {
			if strings.HasPrefix(line, "signalbox_health_issues{") && !strings.HasSuffix(line, " 0\n") {
				t.Errorf("where all is well: %s", line)
			}
		}
		if text := metricsOf(c, id); !strings.Contains(text, "signalbox_governor 0\n") ||
			strings.Contains(text, "signalbox_shard_failure_tolerance") {
			t.Errorf("a host that does not govern shows\n%s", text)
		}
		c.Isolate(id)
		eventually(t, time.Minute, "a failure is shown", shows(
			`signalbox_health_issues{kind="host-failed",severity="warning"} 1`+"\n",
			`signalbox_shard_voters_live{shard="1"} 2`+"\n", `signalbox_shard_failure_tolerance{shard="1"} 0`+"\n",
			`signalbox_health_issues{kind="no-failure-tolerance",severity="warning"} 1`+"\n",
			`signalbox_hosts{state="offline"} 1`+"\n"))
		c.Heal()
		isOnline(t, c, id, 1)
		eventually(t, time.Minute, "it is back", shows(`signalbox_shard_failure_tolerance{shard="1"} 1`+"\n"))
	})
}

// TestTheLeaderShowsTheAgeOfItsSweep: never older than the sweep interval, and only at the leader.
func TestTheLeaderShowsTheAgeOfItsSweep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := servertest.Start(t, servertest.Hosts(3))
		id := follower(c, 1)
		isOnline(t, c, id, 1)
		const series = `signalbox_shard_remote_session_check_age_seconds{shard="1"} `
		for range 7 {
			time.Sleep(10 * time.Second)
			_, rest, shown := strings.Cut(metricsOf(c, c.Leader(1)), series)
			age, err := strconv.ParseFloat(rest[:max(0, strings.IndexByte(rest, '\n'))], 64)
			if !shown || err != nil || age < 0 || age > 35 {
				t.Fatalf("the leader shows %v %v %v", shown, age, err)
			}
		}
		// The governor may have moved the leadership meanwhile.
		if strings.Contains(metricsOf(c, follower(c, 1)), series) {
			t.Error("a host that does not lead shows an age")
		}
	})
}
