package raftlog

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/raftlog/internal/direct"
)

// pacedFile is a log file whose syncs take a given time.
type pacedFile struct {
	direct.File
	sync time.Duration
}

func (f pacedFile) SyncData() error {
	time.Sleep(f.sync)
	return nil
}

// pacedFiles are the system's files with syncs that take a given time.
func pacedFiles(sync time.Duration) *Files {
	files := systemFiles()
	files.OpenData = func(name string) (direct.File, error) {
		file, err := direct.Open(name)
		return pacedFile{file, sync}, err
	}
	return &files
}

// TestTheDiskDecidesTheWorkers: the first start measures the disk, and later starts keep the number.
func TestTheDiskDecidesTheWorkers(t *testing.T) {
	const slow = 4 * slowSync
	for _, c := range []struct {
		name   string
		config int
		hosts  int
		sync   time.Duration
		want   int
	}{
		{"a fast disk", 0, 3, 0, fastWorkers},
		{"a slow disk", 0, 3, slow, slowWorkers},
		{"the only host", 0, 1, slow, fastWorkers},
		{"a number in the config", 3, 1, slow, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			members := newCluster(t, c.hosts, func(config *Config) { config.Workers = c.config })
			started := func(what string, sync time.Duration) {
				t.Helper()
				for _, m := range members {
					m.config.Files = pacedFiles(sync)
				}
				openAll(members)
				for _, m := range members {
					if got := m.host.config.Workers; got != c.want {
						t.Errorf("%s: host %d has %d workers, want %d", what, m.config.Host, got, c.want)
					}
				}
				if o := proposeTo(leaderOf(t, members).log, what); o != shard.OutcomeApplied {
					t.Errorf("%s: %v", what, o)
				}
				for _, m := range members {
					m.close()
				}
			}
			started("first start", c.sync)
			started("on another disk", slow-c.sync)
			if c.config != 0 {
				return
			}
			// The first process was killed before it wrote the record.
			for _, m := range members {
				if err := os.Remove(filepath.Join(m.config.DataDir, recordFile)); err != nil {
					t.Fatal(err)
				}
			}
			started("without a record", slow-c.sync)
		})
	}
}
