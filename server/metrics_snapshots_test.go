package server_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox/signalbox/server"
	"github.com/signalbox/signalbox/server/servertest"
	"github.com/signalbox/signalbox/shard"
)

// fullDisk takes nothing.
type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

// TestMetricsCountTheSnapshotsOfTheLog: the test calls a shard's state machine in place of the log.
func TestMetricsCountTheSnapshotsOfTheLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		machines := make(map[uint64]shard.StateMachine)
		c := servertest.Start(t, servertest.Config(func(c *server.Config) {
			open := c.Logs
			c.Logs = func(id uint64, sm shard.StateMachine) (shard.Log, error) {
				machines[id] = sm
				return open(id, sm)
			}
		}))
		s := speak(t, c, 1)
		s.node("/a")
		s.session("/a", time.Minute).acquire("lock", 1, 0, true)
		synctest.Wait()

		shows := func(want ...string) {
			t.Helper()
			var out bytes.Buffer
			c.Host(1).WriteMetrics(&out)
			for _, line := range want {
				if !strings.Contains(out.String(), line+"\n") {
					t.Errorf("missing: %s", line)
				}
			}
		}
		prepare := func(id uint64) shard.Snapshot {
			t.Helper()
			snapshot, err := machines[id].PrepareSnapshot()
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(snapshot.Discard)
			return snapshot
		}
		stopped := make(chan struct{})
		close(stopped)
		for id := range uint64(2) { // meta shard and one data shard
			series := func(name string, n int) string {
				return fmt.Sprintf(`signalbox_snapshot%s{shard="%d"} %d`, name, id, n)
			}
			shows(series("s_saved_total", 0), series("_save_failures_total", 0), series("s_loaded_total", 0),
				series("_size_bytes", 0))

			if err := prepare(id).Save(fullDisk{}, nil); err == nil {
				t.Fatal("a full disk took a snapshot")
			}
			if err := prepare(id).Save(new(bytes.Buffer), stopped); !errors.Is(err, shard.ErrSnapshotStopped) {
				t.Fatal(err)
			}
			shows(series("s_saved_total", 0), series("_save_failures_total", 1), series("_size_bytes", 0))

			var disk bytes.Buffer
			if err := prepare(id).Save(&disk, nil); err != nil {
				t.Fatal(err)
			}
			size := disk.Len()
			shows(series("s_saved_total", 1), series("_save_failures_total", 1), series("s_loaded_total", 0),
				series("_size_bytes", size))

			if err := machines[id].Restore(bytes.NewReader(disk.Bytes()[:size/2])); err == nil {
				t.Fatal("half a snapshot was taken")
			}
			if err := machines[id].Restore(&disk); err != nil {
				t.Fatal(err)
			}
			shows(series("s_saved_total", 1), series("s_loaded_total", 1), series("_size_bytes", size))
		}
		shows("signalbox_snapshot_save_duration_seconds_count 2", "signalbox_snapshot_load_duration_seconds_count 2")
	})
}

func TestMetricsShowTheSnapshotsBetweenHosts(t *testing.T) {
	moved := new(server.SnapshotTransfers)
	moved.SnapshotReceived(1 << 40) // an unauthenticated peer's claim
	moved.SnapshotSent(0)           // possible before a host exists
	c := servertest.Start(t, servertest.Config(func(config *server.Config) { config.LogSnapshots = moved }))
	moved.SnapshotNotSent(1)
	moved.SnapshotReceived(1)
	moved.SnapshotReceived(1)
	var out bytes.Buffer
	c.Host(1).WriteMetrics(&out)
	for _, want := range []string{
		`signalbox_snapshots_sent_total{shard="0"} 1`, `signalbox_snapshots_sent_total{shard="1"} 0`,
		`signalbox_snapshot_send_failures_total{shard="1"} 1`, `signalbox_snapshots_received_total{shard="1"} 2`,
	} {
		if !strings.Contains(out.String(), want+"\n") {
			t.Errorf("missing: %s", want)
		}
	}
}
