package server_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server"
	"github.com/signalbox/signalbox/server/executor"
	"github.com/signalbox/signalbox/server/servertest"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/hosts"
	"github.com/signalbox/signalbox/shard/kinds"
	"github.com/signalbox/signalbox/shard/machine"
)

// furnish creates a node with semaphores whose total data exceeds one piece.
func furnish(s *speaker, semaphores int) (node uint64) {
	node = s.node("/n")
	for i := range semaphores {
		s.must(s.ask(&protocol.SemaphoreCreate{NodeID: node, Name: fmt.Append(nil, "s", i), Limit: 1,
			Data: bytes.Repeat([]byte("d"), 60_000)}))
	}
	return node
}

func (s *speaker) begin(shard uint64) *protocol.BackupBeginAnswer {
	s.t.Helper()
	a := s.must(s.ask(&protocol.BackupBegin{ShardID: shard})).BackupBegin
	return &a
}

// readState reads a state to its end.
func (s *speaker) readState(id uint64) (state []byte) {
	s.t.Helper()
	for {
		a := s.must(s.ask(&protocol.BackupRead{StateID: id}))
		state = append(state, a.BackupRead.Piece...)
		if a.BackupRead.Done {
			return state
		}
	}
}

// TestAStateIsSavedAsItWasWhenItWasBegun: changes during the read are not included, changes acknowledged before it are.
func TestAStateIsSavedAsItWasWhenItWasBegun(t *testing.T) {
	c := servertest.Start(t)
	s := speak(t, c, 1)
	node := furnish(s, 20)
	of := s.begin(1)
	s.must(s.ask(&protocol.SemaphoreDelete{NodeID: node, Name: []byte("s0"), Force: true}))
	s.must(s.ask(&protocol.SemaphoreUpdate{NodeID: node, Name: []byte("s7"), Data: []byte("later")}))
	s.must(s.ask(&protocol.SemaphoreCreate{NodeID: node, Name: []byte("later"), Limit: 1}))
	m := machine.New(kinds.All(), machine.Options{})
	if err := m.Restore(bytes.NewReader(s.readState(of.StateID))); err != nil {
		t.Fatal(err)
	}
	if objects := m.Usage(shard.NodeID(node)); objects.Objects != 20 || of.Term == 0 || of.Index == 0 {
		t.Errorf("%d objects, %+v", objects.Objects, of)
	}
	var d shard.Description
	m.Describe(shard.Ref{Kind: shard.KindSemaphore, Node: shard.NodeID(node), Name: "s7"}, shard.DescribeOptions{}, &d)
	want(t, "bytes of data", len(d.Data), 60_000)
	want(t, "after the end", s.ask(&protocol.BackupRead{StateID: of.StateID}).Result.Status, protocol.StatusNotFound)
}

// TestBackupsAreCountedAndOnRecord: completely read states are counted, abandoned ones are not. The author is logged in
// either case.
func TestBackupsAreCountedAndOnRecord(t *testing.T) {
	const last = "signalbox_backup_last_timestamp_seconds"
	var log logbook
	c := servertest.Start(t, log.option())
	s := speak(t, c, 1)
	furnish(s, 1)
	s.must(s.ask(&protocol.BackupEnd{StateID: s.begin(1).StateID}))
	for i, id := range []uint64{1, 0} {
		want(t, "when the meta shard was saved", metric(t, c, last), 0)
		s.readState(s.begin(id).StateID)
		awaitThat(t, "it is counted", func() bool { return metric(t, c, "signalbox_backup_shards_saved_total") == i+1 })
	}
	if at := metric(t, c, last); at < 1e9 {
		t.Errorf("the meta shard was saved at %d", at)
	}
	lines := log.lines(`action="save backup"`)
	want(t, "records", len(lines), 3)
	if !strings.Contains(lines[2], `object="shard 0" outcome=SUCCESS`) {
		t.Errorf("on record: %s", lines[2])
	}
}

// TestOneAsksForOnePieceAtATime: the second request is refused, and the first is answered.
func TestOneAsksForOnePieceAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := servertest.Start(t)
		s := speak(t, c, 1)
		furnish(s, 20)
		of := s.begin(1)
		var ids []uint64
		for range 20 { // the pieces are fewer
			ids = append(ids, s.say(&protocol.BackupRead{StateID: of.StateID}))
		}
		answered := make(map[protocol.Status]int)
		for _, id := range ids {
			answered[s.await(id, protocol.KindBackupRead.Answer()).Result.Status]++
		}
		if answered[protocol.StatusSuccess] == 0 || answered[protocol.StatusSuccess]+
			answered[protocol.StatusBadRequest]+answered[protocol.StatusNotFound] != len(ids) {
			t.Errorf("%v", answered)
		}
	})
}

// TestAStateThatIsGivenUpLeavesItsPlace: a state is released by its client, with its connection, and after a minute
// without requests.
func TestAStateThatIsGivenUpLeavesItsPlace(t *testing.T) {
	for name, giveUp := range map[string]func(s *speaker, id uint64){
		"ended": func(s *speaker, id uint64) { s.must(s.ask(&protocol.BackupEnd{StateID: id})) },
		"left":  func(s *speaker, _ uint64) { _ = s.conn.Close() },
		"idle":  func(*speaker, uint64) { time.Sleep(2 * time.Minute) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := servertest.Start(t, servertest.Config(func(c *server.Config) { c.PingInterval = time.Hour }))
				first := speak(t, c, 1)
				furnish(first, 20)
				other := speak(t, c, 1)
				var last uint64
				for range server.MaxExports {
					last = first.begin(1).StateID
				}
				refused := other.ask(&protocol.BackupBegin{ShardID: 1})
				want(t, "one too many", refused.Result.Status, protocol.StatusOverloaded)
				giveUp(first, last)
				synctest.Wait()
				other.readState(other.begin(1).StateID)
			})
		})
	}
}

// TestStatesComeFromLeaders: data shard and meta shard states come from their leaders; other hosts name the leader.
func TestStatesComeFromLeaders(t *testing.T) {
	c := servertest.Start(t, servertest.Hosts(3))
	for _, id := range []uint64{0, 1} {
		leader := c.Leader(id)
		a := speak(t, c, leader%3+1).ask(&protocol.BackupBegin{ShardID: id})
		want(t, "another host", a.Result.Status, protocol.StatusMoved)
		want(t, "the leader", a.Result.Moved.LeaderHostID, uint64(leader))
		s := speak(t, c, leader)
		if state := s.readState(s.begin(id).StateID); len(state) == 0 {
			t.Errorf("shard %d has no state", id)
		}
	}
	a := speak(t, c, 1).ask(&protocol.BackupBegin{ShardID: 9})
	want(t, "no such shard", a.Result.Status, protocol.StatusNotFound)
}

// TestABackupTakesItsOwnRight: only the backup right is sufficient, and it must cover all nodes.
func TestABackupTakesItsOwnRight(t *testing.T) {
	c := servertest.Start(t, servertest.Config(func(c *server.Config) { c.Access = tokens{} }))
	s := enter(t, c, "admin") // of /prod
	for _, m := range []protocol.RequestMessage{&protocol.BackupDescribe{}, &protocol.BackupBegin{ShardID: 1},
		&protocol.BackupBegin{}, &protocol.BackupRead{StateID: 1}, &protocol.BackupEnd{StateID: 1}} {
		want(t, m.Kind().String(), s.ask(m).Result.Status, protocol.StatusUnauthorized)
		want(t, m.Kind().String(), m.Kind().Right(), protocol.RightBackup)
	}
}

// muted are calls between hosts that fail on the test's request.
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

// backupsIn returns the audit entries about backups, without the author's address.
func backupsIn(r *hosts.Records) (said []string) {
	for _, e := range r.Audit(1, hosts.MaxAudit) {
		if e.Event == hosts.EventBackup {
			by, _, _ := strings.Cut(e.By, " at ")
			said = append(said, fmt.Sprintf("%s: %s, by %s", e.Name, e.Text, by))
		}
	}
	return said
}

// TestWhoSavesABackupIsInTheHistory: each state is recorded at its start and end, from any host. If the meta leader
// cannot be reached, the state is still saved, and the host's log names the author.
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
	slices.Sort(got) // one's end may come before another's start
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
	missing := func() []string { return log.lines("the meta shard has no record of a backup") }
	awaitThat(t, "the log has it", func() bool { return len(missing()) == 2 })
	want(t, "entries", len(backupsIn(recordsOf(c, 1))), 6)
	for _, line := range missing() {
		if !strings.Contains(line, `by="a client at `) {
			t.Errorf("not said who: %s", line)
		}
	}
}
