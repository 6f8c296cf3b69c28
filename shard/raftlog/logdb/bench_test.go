package logdb

import (
	"fmt"
	"sync"
	"testing"

	pb "github.com/lni/dragonboat/v4/raftpb"
	"github.com/lni/vfs"
	"github.com/signalbox/signalbox/internal/backgrounddelete"
	"github.com/signalbox/signalbox/shard/raftlog/internal/direct"
	"github.com/signalbox/signalbox/shard/raftlog/wal"
)

func benchmarkStore(b *testing.B) *DB {
	b.Helper()
	db, err := (&Factory{Disk: wal.Disk{FS: backgrounddelete.FS{FS: vfs.Default},
		OpenData: direct.Open}}).Open(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := db.Close(); err != nil {
			b.Error(err)
		}
	})
	return db
}

// BenchmarkSaveEntries saves an entry of 1 KiB at a time: one worker, and several that share syncs.
func BenchmarkSaveEntries(b *testing.B) {
	for _, workers := range []int{1, 4, 64} {
		b.Run(fmt.Sprintf("workers=%d", workers), func(b *testing.B) {
			db := benchmarkStore(b)
			cmd := make([]byte, 1024)
			b.ReportAllocs()
			b.ResetTimer()
			var all sync.WaitGroup
			for w := range workers {
				all.Go(func() {
					for i := range uint64((b.N + workers - 1 - w) / workers) {
						saved(b, db, pb.Update{
							ShardID: uint64(w + 1), ReplicaID: 1, State: pb.State{Term: 1, Commit: i},
							EntriesToSave: []pb.Entry{{Index: i + 1, Term: 1, Cmd: cmd}},
						})
						if i%10000 == 9999 {
							if err := db.RemoveEntriesTo(uint64(w+1), 1, i-1000); err != nil {
								b.Error(err)
							}
						}
					}
				})
			}
			all.Wait()
		})
	}
}

// BenchmarkSaveCommitPosition saves states in which only the commit position has moved.
func BenchmarkSaveCommitPosition(b *testing.B) {
	db := benchmarkStore(b)
	saved(b, db, pb.Update{ShardID: 1, ReplicaID: 1, State: pb.State{Term: 1}})
	updates := []pb.Update{{ShardID: 1, ReplicaID: 1, State: pb.State{Term: 1}}}
	b.ReportAllocs()
	for i := range b.N {
		updates[0].State.Commit = uint64(i)
		if err := db.SaveRaftState(updates, 1); err != nil {
			b.Fatal(err)
		}
	}
}
