package zookeeper

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/signalbox/signalbox/bench/internal/load"
	"github.com/signalbox/signalbox/bench/internal/load/loadtest"
	"github.com/signalbox/signalbox/loadgen/report"
)

// TestEveryWorkloadRunsOnARealServer needs an installed ZooKeeper.
func TestEveryWorkloadRunsOnARealServer(t *testing.T) {
	installed, err := Find(DefaultJar)
	if err != nil {
		t.Skip(err)
	}
	if testing.Short() {
		t.Skip("it starts a server of ZooKeeper")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cluster, err := Start(ctx, installed, t.TempDir(), 1)
	if err != nil {
		t.Fatal(err)
	}
	defer cluster.Stop()
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
