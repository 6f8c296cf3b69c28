package zookeeper

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/signalbox/signalbox/bench/internal/failover"
	"github.com/signalbox/signalbox/bench/internal/failover/failtest"
	"github.com/signalbox/signalbox/bench/internal/load"
	"github.com/signalbox/signalbox/bench/internal/load/loadtest"
	"github.com/signalbox/signalbox/loadgen/report"
)

// started starts servers if ZooKeeper is installed.
func started(t *testing.T, servers int) (*Cluster, context.Context) {
	t.Helper()
	installed, err := Find(DefaultJar)
	if err != nil {
		t.Skip(err)
	}
	if testing.Short() {
		t.Skip("it starts a server of ZooKeeper")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	cluster, err := Start(ctx, installed, t.TempDir(), servers, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		cluster.Stop()
	})
	return cluster, ctx
}

// TestEveryWorkloadRunsOnARealServer needs an installed ZooKeeper.
func TestEveryWorkloadRunsOnARealServer(t *testing.T) {
	cluster, ctx := started(t, 1)
	for name := range workloads {
		t.Run(name, func(t *testing.T) {
			r := loadtest.Some(t, func(d time.Duration) (*report.Report, error) {
				return Drive(ctx, cluster.Endpoints, load.Plan{Workload: name, Hosts: 1, Callers: 4, Duration: d})
			})
			sessions := 4
			if name == "barrier" {
				sessions *= load.Parties
			}
			if r.Connections != sessions {
				t.Errorf("%d connections of %d sessions", r.Connections, sessions)
			}
		})
	}
}

func TestAMissingZooKeeperIsSaidWithWhatToDo(t *testing.T) {
	_, err := Find(filepath.Join(t.TempDir(), "zookeeper.jar"))
	if err == nil || !strings.Contains(err.Error(), "apt-get install zookeeper") {
		t.Errorf("the error is %v", err)
	}
}

func TestServersOfAnEnsembleAreNamedAndOneByItselfIsNot(t *testing.T) {
	if got := ensemble([]string{"127.0.0.1:1", "127.0.0.1:2"}); got != "" {
		t.Errorf("one server is given %q", got)
	}
	want := "server.1=127.0.0.1:1:2\nserver.2=127.0.0.1:3:4\nserver.3=127.0.0.1:5:6\n"
	got := ensemble([]string{"127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3", "127.0.0.1:4", "127.0.0.1:5", "127.0.0.1:6"})
	if got != want {
		t.Errorf("three servers are given\n%swant\n%s", got, want)
	}
}

func TestTheVersionIsReadFromWhatTheServerSays(t *testing.T) {
	if got := versionOf("Apache ZooKeeper, version 3.8.0 2024-12-29 17:54 UTC\n"); got != "3.8.0" {
		t.Errorf("the version is %q", got)
	}
}

func TestTheStateOfAServerIsReadFromItsAnswer(t *testing.T) {
	s, err := parseState("Zookeeper version: 3.8.0\nReceived: 7\nZxid: 0x100000007\nMode: leader\nNode count: 5\n")
	if want := (state{"leader", 0x100000007}); err != nil || s != want {
		t.Errorf("it is %+v, %v", s, err)
	}
	for _, answer := range []string{"", "This ZooKeeper instance is not currently serving requests\n", "Zxid: zero\n"} {
		if s, err := parseState(answer); err == nil {
			t.Errorf("%q is the state %+v", answer, s)
		}
	}
}

func TestAServerLacksATransactionAndNotTheBeginningOfAnEpoch(t *testing.T) {
	for _, c := range []struct {
		has, leader uint64
		want        bool
	}{
		{0x100000007, 0x100000007, false}, {0x100000007, 0x100000008, true}, {0, 0x100000000, false},
		{0x100000007, 0x200000000, false}, {0x100000007, 0x200000001, true}, {0x200000002, 0x200000001, false},
	} {
		if got := (state{"follower", c.has}).lacks(c.leader); got != c.want {
			t.Errorf("one with %x lacks %x: %v", c.has, c.leader, got)
		}
	}
}

// TestLeadersAreKilled has three servers, one leading.
func TestLeadersAreKilled(t *testing.T) {
	cluster, ctx := started(t, 3)
	failtest.KillsAreMeasured(t, cluster, 1, func(plan failover.Plan) (*report.Report, error) {
		return FailOver(ctx, cluster, plan, 2)
	})
}
