//go:build linux

package chaos

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/signalbox/signalbox/server/servertest/process"
)

// TestDisksShowWhatAKillInterrupted creates directories like those of killed hosts.
func TestDisksShowWhatAKillInterrupted(t *testing.T) {
	const (
		of   = "raft/vm/77/snapshot-part-1/snapshot-1-1"
		full = "snapshot-0000000000000CAB"
		part = "snapshot-0000000000000F01-"
	)
	long := -time.Minute
	for name, c := range map[string]struct {
		host string // owner of the disk
		file string
		age  time.Duration
		want []Activity // for a kill of host a, the first host
	}{
		"nothing":                         {"a", of + "/nothing", 0, nil},
		"a snapshot that is complete":     {"a", of + "/" + full + "/" + full + ".gbsnap", 0, nil},
		"one that it saved":               {"a", of + "/" + part + "1.generating/x.gbsnap", 0, []Activity{Saving}},
		"one that it received":            {"a", of + "/" + part + "2.receiving/x.gbsnap", 0, []Activity{Receiving}},
		"one that it sent":                {"c", of + "/" + part + "1.receiving/x.gbsnap", 0, []Activity{Sending}},
		"one that another one sent":       {"c", of + "/" + part + "2.receiving/x.gbsnap", 0, nil},
		"one that another one saved":      {"c", of + "/" + part + "3.generating/x.gbsnap", 0, nil},
		"one that was broken off":         {"a", of + "/" + part + "2.receiving/x.gbsnap", long, nil},
		"one that is not recorded":        {"a", of + "/" + full + "/" + flagFile, 0, []Activity{Recording}},
		"one that another one has to log": {"b", of + "/" + full + "/" + flagFile, 0, nil},
	} {
		t.Run(name, func(t *testing.T) {
			x := &cluster{}
			for _, host := range []string{"a", "b", "c"} {
				x.places = append(x.places, &process.Place{Name: host, Dir: filepath.Join(t.TempDir(), host)})
				if host != c.host {
					continue
				}
				path := filepath.Join(x.places[len(x.places)-1].Dir, c.file)
				if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte("x"), 0o640); err != nil {
					t.Fatal(err)
				}
				for _, p := range []string{path, filepath.Dir(path)} {
					if at := time.Now().Add(c.age); os.Chtimes(p, at, at) != nil {
						t.Fatal("no times can be set")
					}
				}
			}
			if have := x.activitiesOf(0); !slices.Equal(have, c.want) {
				t.Errorf("a kill of host a interrupted %v, want %v", have, c.want)
			}
			want := c.file == of+"/"+full+"/"+full+".gbsnap"
			if n := completeSnapshots(x.places[0].Dir); (n == 1) != want || n > 1 {
				t.Errorf("%d snapshots are complete", n)
			}
		})
	}
}
