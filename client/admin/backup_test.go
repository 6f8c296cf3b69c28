package admin

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/signalbox/signalbox/server/backup"
	"github.com/signalbox/signalbox/server/servertest"
	"github.com/signalbox/signalbox/test/clienttest"
)

// furnish makes enough semaphores that each shard's state has several pieces.
func furnish(t *testing.T, g *clienttest.Stage) {
	t.Helper()
	s := g.Session()
	for i := range 40 {
		err := s.Semaphore(fmt.Sprint("s", i)).Create(t.Context(), 1, bytes.Repeat([]byte("d"), 50_000))
		clienttest.Check(t, err)
	}
}

// TestABackupHasAllShards: the file is complete and contains each shard once.
func TestABackupHasAllShards(t *testing.T) {
	clienttest.Play(t, 1, func(t *testing.T, g *clienttest.Stage) {
		furnish(t, g)
		var file bytes.Buffer
		calls := 0
		done, err := New(g.Client).Backup(t.Context(), &file, func(Backup) { calls++ })
		clienttest.Check(t, err)
		states, err := backup.Load(&file)
		clienttest.Check(t, err)
		if done.Saved != 3 || done.Shards != 2 || done.Bytes < 2_000_000 || calls < 8 || done.Again != 0 ||
			done.Cluster != states.Header.Cluster || done.Begun != states.Header.Begun {
			t.Errorf("%+v, %d calls", done, calls)
		}
		if got := states.Data[1].Usage(0).Objects + states.Data[2].Usage(0).Objects; got != 40 {
			t.Errorf("%d objects", got)
		}
		if _, ok := states.Meta.Node(clienttest.Path); !ok || len(states.Sections) != 3 {
			t.Errorf("%+v", states.Sections)
		}
	})
}

// TestABackupGoesOnAtTheNextLeader: the file is complete although a connection or a leader is lost in the middle of a
// shard.
func TestABackupGoesOnAtTheNextLeader(t *testing.T) {
	for name, lose := range map[string]func(c *servertest.Cluster, shard uint64){
		"a connection": func(c *servertest.Cluster, shard uint64) { c.CutClients(c.Leader(shard)) },
		"a host":       func(c *servertest.Cluster, shard uint64) { c.Stop(c.Leader(shard)) },
	} {
		t.Run(name, func(t *testing.T) {
			clienttest.Play(t, 3, func(t *testing.T, g *clienttest.Stage) {
				furnish(t, g)
				var file bytes.Buffer
				var before int64 // bytes, when shard 2 was begun
				lost := false
				done, err := New(g.Client).Backup(t.Context(), &file, func(b Backup) {
					switch {
					case b.Saved != 1 || lost:
					case before == 0:
						before = b.Bytes
					case b.Bytes > before: // a piece of shard 2 has arrived
						lost = true
						lose(g.Server, 2)
					}
				})
				clienttest.Check(t, err)
				states, err := backup.Load(&file)
				clienttest.Check(t, err)
				objects := states.Data[1].Usage(0).Objects + states.Data[2].Usage(0).Objects
				if !lost || done.Again == 0 || done.Saved != 3 || objects != 40 {
					t.Errorf("%+v", done)
				}
			})
		})
	}
}

// TestABackupEndsWithItsFile: if the file cannot be written, the client does not ask again.
func TestABackupEndsWithItsFile(t *testing.T) {
	clienttest.Play(t, 1, func(t *testing.T, g *clienttest.Stage) {
		furnish(t, g)
		full := errors.New("the disk is full")
		for _, room := range []int{0, 50, 700_000} {
			_, err := New(g.Client).Backup(t.Context(), &bounded{room, full}, nil)
			if !errors.Is(err, full) {
				t.Errorf("with room for %d bytes: %v", room, err)
			}
		}
		_, err := New(g.Client).Backup(t.Context(), io.Discard, nil)
		clienttest.Check(t, err) // nothing is left open
	})
}

// bounded has room for so many bytes.
type bounded struct {
	room int
	full error
}

// Write implements io.Writer.
func (b *bounded) Write(p []byte) (int, error) {
	if b.room -= len(p); b.room < 0 {
		return 0, b.full
	}
	return len(p), nil
}
