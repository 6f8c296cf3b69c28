package server_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server"
	"github.com/signalbox/signalbox/server/executor"
	"github.com/signalbox/signalbox/server/servertest"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/hosts"
)

// muted are calls between hosts that fail while the test says so.
type muted struct {
	executor.Calls
	off *atomic.Bool
}

func (m muted) Call(ctx context.Context, to shard.HostID, request []byte) ([]byte, error) {
	if m.off.Load() {
		return nil, errors.New("no call passes")
	}
	return m.Calls.Call(ctx, to, request)
}

// backupsIn are the entries of the history about backups, without the address of who saved them.
func backupsIn(r *hosts.Records) (said []string) {
	for _, e := range r.Audit(1, hosts.MaxAudit) {
		if e.Event == hosts.EventBackup {
			by, _, _ := strings.Cut(e.By, " at ")
			said = append(said, fmt.Sprintf("%s: %s, by %s", e.Name, e.Text, by))
		}
	}
	return said
}

// TestWhoSavesABackupIsInTheHistory: each state with its begin and its end, whichever host it comes from. Where the
// leader of the meta shard is not reached the state is saved all the same, and the log of the host has who it was.
func TestWhoSavesABackupIsInTheHistory(t *testing.T) {
	synctest.Test(t, testWhoSavesABackupIsInTheHistory)
}

func testWhoSavesABackupIsInTheHistory(t *testing.T) {
	var log logbook
	var off atomic.Bool
	c, leader := operated(t, log.option(), servertest.Config(func(c *server.Config) { c.Calls = muted{c.Calls, &off} }))
	lead := func(to shard.HostID) {
		t.Helper()
		awaitThat(t, "a host leads the data shard", func() bool {
			if c.Leader(1) != to {
				_ = c.Elect(1, to)
			}
			return c.Leader(0) == 1 && c.Host(to).Status().Shards[0].Serving
		})
	}
	lead(1)
	furnish(leader, 10)
	lead(2)
	s := speak(t, c, 2)

	state := s.readState(s.begin(1).StateID)
	meta := leader.readState(leader.begin(0).StateID)
	s.must(s.ask(&protocol.BackupEnd{StateID: s.begin(1).StateID}))
	awaitThat(t, "all is in the history", func() bool { return len(backupsIn(recordsOf(c, 1))) == 6 })
	got := backupsIn(recordsOf(c, 1))
	slices.Sort(got) // the ends of one may come before the begin of another
	if want := []string{
		"host-1: the state of shard 0 is being saved, by a client",
		fmt.Sprintf("host-1: the state of shard 0 was saved, %d bytes, by a client", len(meta)),
		"host-2: saving the state of shard 1 was given up after 0 bytes, by a client",
		"host-2: the state of shard 1 is being saved, by a client",
		"host-2: the state of shard 1 is being saved, by a client",
		fmt.Sprintf("host-2: the state of shard 1 was saved, %d bytes, by a client", len(state)),
	}; !slices.Equal(got, want) {
		t.Errorf("in the history: %q, want %q", got, want)
	}

	off.Store(true)
	want(t, "bytes of the state", len(s.readState(s.begin(1).StateID)), len(state))
	missing := func() []string { return log.lines("the history of the cluster has no entry") }
	awaitThat(t, "the log has it", func() bool { return len(missing()) == 2 })
	want(t, "entries", len(backupsIn(recordsOf(c, 1))), 6)
	for _, line := range missing() {
		if !strings.Contains(line, `by="a client at `) {
			t.Errorf("not said who: %s", line)
		}
	}
}
