package backup_test

import (
	"log/slog"
	"testing"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/handle/backup"
	"github.com/signalbox/signalbox/server/handle/handletest"
)

// bed returns a host's backups, a client, and the audit entries sent to the cluster.
func bed(t *testing.T) (*backup.Backups, *handletest.Client, <-chan protocol.HostEvent) {
	t.Helper()
	h := handletest.Host(t, nil)
	notes := make(chan protocol.HostEvent, 10)
	b := backup.New(backup.Config{Host: h, Log: slog.New(slog.DiscardHandler), Note: func(m protocol.HostNotify) error {
		notes <- m.Event
		return nil
	}})
	return b, handletest.NewClient(t, h, b.Handlers(), ""), notes
}

func begin(t *testing.T, c *handletest.Client, shard uint64) uint64 {
	t.Helper()
	a, err := c.Ask(&protocol.BackupBegin{ShardID: shard})
	return handletest.Must[*protocol.BackupBeginAnswer](t, a, err).StateID
}

func TestAStateIsReadToItsEnd(t *testing.T) {
	b, c, notes := bed(t)
	for shard := range uint64(2) {
		id, bytes := begin(t, c, shard), 0
		for done := false; !done; {
			a, err := c.Ask(&protocol.BackupRead{StateID: id})
			piece := handletest.Must[*protocol.BackupReadAnswer](t, a, err)
			bytes, done = bytes+len(piece.Piece), piece.Done
		}
		if bytes == 0 {
			t.Errorf("the state of shard %d is empty", shard)
		}
		for _, want := range []protocol.HostEvent{protocol.HostBackupStarted, protocol.HostBackupSaved} {
			if got := <-notes; got != want {
				t.Errorf("the history has %v, want %v", got, want)
			}
		}
	}
	if n, last := b.Saved(); n != 2 || last == 0 {
		t.Errorf("%d states are counted, the last at %d", n, last)
	}
}

func TestAStateIsGivenUpByItsClient(t *testing.T) {
	b, c, notes := bed(t)
	for what, giveUp := range map[string]func(id uint64){
		"ended": func(id uint64) {
			if _, err := c.Ask(&protocol.BackupEnd{StateID: id}); err != nil {
				t.Error(err)
			}
		},
		"disconnected": func(uint64) { b.Gone(c) },
	} {
		id := begin(t, c, 1)
		giveUp(id)
		for _, want := range []protocol.HostEvent{protocol.HostBackupStarted, protocol.HostBackupFailed} {
			if got := <-notes; got != want {
				t.Errorf("%s: the history has %v, want %v", what, got, want)
			}
		}
		_, err := c.Ask(&protocol.BackupRead{StateID: id})
		handletest.Refused(t, what, err, protocol.StatusNotFound)
	}
	c.Close()
	_, err := c.Ask(&protocol.BackupBegin{ShardID: 1})
	handletest.Refused(t, "a closed connection", err, protocol.StatusNotFound)
	_, err = c.Ask(&protocol.BackupBegin{ShardID: 9})
	handletest.Refused(t, "a shard that is not there", err, protocol.StatusNotFound)
}
