package raftlog

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/lni/vfs"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/raftlog/internal/direct"
	"github.com/signalbox/signalbox/shard/raftlog/raftlogtest/outage"
)

var (
	powerHosts = flag.Int("power.hosts", 24, "how many images of power failures a whole host is opened on")
	powerSeed  = flag.Uint64("power.seed", 0,
		"the seed of what is written and where the power fails; 0: another one each time")
)

func powerRandom(t *testing.T) *rand.Rand {
	seed := *powerSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("-power.seed=%d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// recordedDisk is a host's disk with recorded files and short log files.
func recordedDisk(r *outage.Recorder) *disk {
	openData := func(name string) (direct.File, error) { return r.OpenData(name) }
	return &disk{Files: Files{FS: r, OpenData: openData, LockDirectory: lockDirectory, SegmentBytes: 1 << 20}}
}

// firstOpening is how many things are done to files, about, until a host is open for the first time.
const firstOpening = 150

// acknowledged is noted when the outcomes of that many batches are known to be Applied.
type acknowledged struct{ batches int }

// powerHost is a host with recorded files, and a way to open hosts on their remains.
type powerHost struct {
	t        *testing.T
	config   Config
	root     string
	random   *rand.Rand
	proposed []string
}

func newPowerHost(t *testing.T) *powerHost {
	one := newCluster(t, 1, func(c *Config) { c.SnapshotBytes, c.KeepBytes = 10*BatchBytes, 5*BatchBytes })[0]
	config := one.config
	config.Tick = 2 * time.Millisecond
	root := t.TempDir()
	config.DataDir = filepath.Join(root, "host")
	return &powerHost{t: t, config: config.withDefaults(), root: root, random: powerRandom(t)}
}

// live opens the host and runs batches, twice.
func (p *powerHost) live(batches int, forget func(string) bool) *outage.Recording {
	p.t.Helper()
	r := outage.NewRecorder(vfs.Default, func(name string) (outage.DataFile, error) { return direct.Open(name) },
		outage.NewDisk(p.root))
	r.Forget = forget
	for range 2 {
		host, err := open(p.config, recordedDisk(r))
		if err != nil {
			p.t.Fatal(err)
		}
		m := &member{t: p.t, config: p.config, host: host}
		m.start(newRecorder())
		leaderOf(p.t, []*member{m})
		for range batches {
			batch := fmt.Sprintf("batch %d %x", len(p.proposed), make([]byte, p.random.IntN(3000)))
			p.proposed = append(p.proposed, batch)
			if o := proposeTo(m.log, batch); o != shard.OutcomeApplied {
				p.t.Fatalf("batch %d: %v", len(p.proposed), o)
			}
			r.Note(acknowledged{len(p.proposed)})
		}
		m.close()
	}
	return r.Recording()
}

// check opens a host on an image, and checks for the acknowledged batches.
func (p *powerHost) check(image *outage.Disk, acknowledged int) error {
	config := p.config
	dir := p.t.TempDir()
	config.DataDir = filepath.Join(dir, "host")
	if err := image.Put(p.root, vfs.Default, dir); err != nil {
		return err
	}
	host, err := Open(config)
	if err != nil {
		return err
	}
	m := &member{t: p.t, config: config, host: host}
	defer m.close()
	m.start(newRecorder())
	if err := m.awaitBarrier(nil); err != nil {
		return err
	}
	found := m.machine.applied()
	if len(found) < acknowledged || len(found) > len(p.proposed) {
		return fmt.Errorf("it has %d batches; %d were acknowledged, %d proposed", len(found), acknowledged,
			len(p.proposed))
	}
	for i, batch := range found {
		if batch != p.proposed[i] {
			return fmt.Errorf("batch %d is %.40q, was %.40q", i, batch, p.proposed[i])
		}
	}
	return nil
}

// images draws images of a recording until a failure is found, or none are left.
func (p *powerHost) images(recording *outage.Recording, left int) (drawn int, err error) {
	moments := make(map[int]int)
	for i := range left {
		end := recording.Len()
		if i%2 == 0 {
			end = min(end, firstOpening) // weighted above its random share
		}
		moments[p.random.IntN(end)]++
	}
	count := 0
	recording.Replay(func(at int, d *outage.Disk, note any) bool {
		if a, ok := note.(acknowledged); ok {
			count = a.batches
		}
		for range moments[at] {
			draw := outage.RandomDraw(p.random)
			if i := p.random.IntN(2 * len(outage.Extremes)); i < len(outage.Extremes) {
				draw = outage.Extremes[i]
			}
			drawn++
			if err = p.check(d.Image(draw), count); err != nil {
				err = fmt.Errorf("after event %d of %d: %w", at, recording.Len(), err)
				break
			}
		}
		return err == nil
	})
	return drawn, err
}

// TestAHostOpensOnWhatPowerFailuresLeave opens complete hosts, which also have snapshots, identity records and new
// directories.
func TestAHostOpensOnWhatPowerFailuresLeave(t *testing.T) {
	t.Parallel()
	p := newPowerHost(t)
	recording := p.live(60, nil)
	drawn, err := p.images(recording, *powerHosts)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d images", drawn)
}

// last draws the extremes at the end of a recording.
func (p *powerHost) last(recording *outage.Recording) (err error) {
	recording.Replay(func(at int, d *outage.Disk, _ any) bool {
		if at == recording.Len()-1 {
			for _, draw := range outage.Extremes {
				err = errors.Join(err, p.check(d.Image(draw), len(p.proposed)))
			}
		}
		return true
	})
	return err
}

// TestMistakesOfAHostThatPowerFailuresShow omits syncs outside the store.
func TestMistakesOfAHostThatPowerFailuresShow(t *testing.T) {
	above := "above the data directory"
	for name, forget := range map[string]func(string) bool{
		"":          nil,
		"snapshots": func(name string) bool { return filepath.Ext(name) == snapshotSuffix },
		"flag files": func(name string) bool {
			return slices.Contains([]string{"dragonboat.ds.new", "NODEHOST.ID.new"}, filepath.Base(name))
		},
		above: nil,
	} {
		t.Run("not synced: "+name, func(t *testing.T) {
			t.Parallel()
			p := newPowerHost(t)
			if name == above {
				forget = func(name string) bool { return name == p.root }
			}
			err := p.last(p.live(25, forget))
			if noticed := err != nil; noticed != (name != "") {
				t.Errorf("it was noticed: %v: %v", noticed, err)
			}
		})
	}
}
