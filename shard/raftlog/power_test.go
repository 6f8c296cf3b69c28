package raftlog

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lni/vfs"
	"github.com/signalbox/signalbox/shard/raftlog/internal/outage"
)

var (
	powerImages = flag.Int("power.images", 1500, "how many images of power failures the log store is opened on")
	powerSeed   = flag.Uint64("power.seed", 0,
		"the seed of what is written and where the power fails; 0: another one each time")
)

// era is a time in which a store ran, from an opening to a power failure or a kill.
type era struct {
	recording *outage.Recording
	closing   *outage.Recording // the same, and how the store was closed
	states    []*ledger         // what the store had after each step
	texts     []string
	begin     span // what it could have when the era began
}

// span is which states a store may have: those from the last one that must be safe to the last one that was asked for.
type span struct{ low, high int }

type (
	asked struct {
		state int
		what  string
	}
	safe struct{ state int }
)

// noted is the span after something was noted.
func (s span) noted(note any) span {
	switch n := note.(type) {
	case asked:
		s.high = n.state
	case safe:
		s.low = n.state
	}
	return s
}

// liveOn has a store do some steps on a disk, and records it. states are those that it may have when it opens.
func liveOn(disk *outage.Disk, states []*ledger, begin span, steps int, random *rand.Rand,
	forget func(string) bool) (_ *era, err error) {
	fs := roomy{vfs.NewMem()}
	if err := disk.Put(storeRoot, fs, storeRoot); err != nil {
		return nil, err
	}
	r := outage.NewRecorder(fs, func(name string) (outage.DataFile, error) { return openMemory(fs)(name) }, disk)
	r.Forget = forget
	e := &era{begin: begin}
	for _, l := range states {
		e.add(l)
	}
	store, err := openStore(r, openRecorded(r))
	if err != nil {
		return nil, fmt.Errorf("open: %w", err)
	}
	defer func() {
		err = errors.Join(err, store.close())
		e.closing = r.Recording()
	}()
	found, err := e.find(store, begin)
	if err != nil {
		return nil, err
	}
	now := e.states[found].clone()
	r.Note(asked{e.add(now.clone()), "open"})
	r.Note(safe{len(e.states) - 1})
	for range steps {
		if random.IntN(60) == 0 {
			if err := store.close(); err != nil {
				return nil, err
			}
			r.Note(safe{len(e.states) - 1})
			if store, err = openStore(r, openRecorded(r)); err != nil {
				return nil, fmt.Errorf("open again: %w", err)
			}
		}
		step := now.next(random)
		state := e.add(now.clone())
		r.Note(asked{state, step.name})
		if err := step.do(store); err != nil {
			return nil, err
		}
		if !step.mayWait {
			r.Note(safe{state})
		}
	}
	e.recording = r.Recording()
	return e, nil
}

func (e *era) add(l *ledger) int {
	e.states = append(e.states, l)
	e.texts = append(e.texts, l.String())
	return len(e.states) - 1
}

// find returns which of the states the store has.
func (e *era) find(store *testStore, allowed span) (int, error) {
	text, err := store.read(ledgerShards)
	if err != nil {
		return 0, fmt.Errorf("read: %w", err)
	}
	for state := allowed.high; state >= allowed.low; state-- {
		if e.texts[state] == text {
			return state, nil
		}
	}
	for state, other := range slices.Backward(e.texts) {
		if other == text {
			return 0, fmt.Errorf("it has state %d, must have %d, and %d was asked for", state, allowed.low,
				allowed.high)
		}
	}
	return 0, fmt.Errorf("it has what it never had:\n%s\nand not what it must have:\n%s", text, e.texts[allowed.low])
}

// open opens a store on an image, and returns which state it has.
func (e *era) open(image *outage.Disk, allowed span) (state int, err error) {
	fs := roomy{vfs.NewMem()}
	if err := image.Put(storeRoot, fs, storeRoot); err != nil {
		return 0, err
	}
	store, err := openStore(fs, openMemory(fs))
	if err != nil {
		return 0, fmt.Errorf("open: %w", err)
	}
	state, err = e.find(store, allowed)
	return state, errors.Join(err, store.close())
}

// powerRun plays eras, one on what another one left, and opens stores on images of them.
type powerRun struct {
	random *rand.Rand
	left   int // images to be opened
	images int
	points int
	eras   int
	forget func(string) bool
}

const (
	powerEach    = 3  // draws at a moment besides the extremes
	powerMoments = 40 // of an era that are looked at, about
	powerSteps   = 40 // of an era, in the mean
	powerEras    = 4  // before everything begins anew
)

func (p *powerRun) run() error {
	for p.left > 0 {
		disk, states, begin := outage.NewDisk(storeRoot), []*ledger{newLedger()}, span{}
		for range powerEras {
			e, err := liveOn(disk, states, begin, 1+p.random.IntN(2*powerSteps), p.random, p.forget)
			if err != nil {
				return fmt.Errorf("era %d: %w", p.eras, err)
			}
			p.eras++
			if disk, states, begin, err = p.fail(e); err != nil {
				return fmt.Errorf("era %d: %w", p.eras-1, err)
			}
			if p.left <= 0 {
				break
			}
		}
	}
	return nil
}

// fail looks at moments of an era, and returns what the next one begins on.
func (p *powerRun) fail(e *era) (next *outage.Disk, states []*ledger, begin span, err error) {
	allowed := e.begin
	density := 1 + e.recording.Len()/powerMoments
	end := p.random.IntN(e.recording.Len())
	e.recording.Replay(func(at int, d *outage.Disk, note any) bool {
		allowed = allowed.noted(note)
		if at == end || p.random.IntN(density) == 0 {
			p.points++
			err = p.look(e, d, at, allowed)
		}
		if at != end || err != nil {
			return err == nil && p.left > 0
		}
		if p.random.IntN(3) == 0 { // the process was killed, and the disk has it all
			next, states, begin = d.Clone(), e.states, allowed
			return p.left > 0
		}
		image := d.Image(outage.RandomDraw(p.random))
		var state int
		if state, err = e.open(image, allowed); err != nil {
			err = fmt.Errorf("after event %d of %d: %w", at, e.recording.Len(), err)
			return false
		}
		next, states = image.Clone(), []*ledger{e.states[state]}
		return p.left > 0
	})
	return next, states, begin, err
}

// look opens stores on images of a moment.
func (p *powerRun) look(e *era, d *outage.Disk, at int, allowed span) error {
	draws := slices.Clone(outage.Extremes[:d.Draws()])
	for range powerEach {
		if d.Draws() > 1 {
			draws = append(draws, outage.RandomDraw(p.random))
		}
	}
	for i, draw := range draws {
		if _, err := e.open(d.Image(draw), allowed); err != nil {
			return fmt.Errorf("after event %d of %d, image %d: %w\n%s", at, e.recording.Len(), i, err,
				e.recording.Describe(at, 40))
		}
		p.images++
		p.left--
	}
	return nil
}

func powerRandom(t *testing.T) *rand.Rand {
	seed := *powerSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("-power.seed=%d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// TestPowerFailures opens the log store on what power failures may leave of it, and finds everything that was
// acknowledged and nothing that was never asked for.
func TestPowerFailures(t *testing.T) {
	run := &powerRun{random: powerRandom(t), left: *powerImages}
	if err := run.run(); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d images of %d moments in %d eras", run.images, run.points, run.eras)
}

// TestAPowerFailureAfterAKill kills a process at every moment of its first opening. The next one goes on with what it
// finds, which the first one may not have synced, until the power fails.
func TestAPowerFailureAfterAKill(t *testing.T) {
	random := powerRandom(t)
	first, err := liveOn(outage.NewDisk(storeRoot), []*ledger{newLedger()}, span{}, 1, random, nil)
	if err != nil {
		t.Fatal(err)
	}
	killed := first.begin
	first.recording.Replay(func(at int, d *outage.Disk, note any) bool {
		killed = killed.noted(note)
		second, err := liveOn(d, first.states, killed, 2, random, nil)
		if err != nil {
			t.Errorf("killed after event %d: %v", at, err)
			return false
		}
		allowed := killed
		second.recording.Replay(func(last int, d *outage.Disk, note any) bool {
			allowed = allowed.noted(note)
			for _, draw := range outage.Extremes {
				if last < second.recording.Len()-1 {
					break
				}
				if _, err := second.open(d.Image(draw), allowed); err != nil {
					t.Errorf("killed after event %d: %v", at, err)
				}
			}
			return true
		})
		return !t.Failed()
	})
}

// TestMistakesThatPowerFailuresShow leaves syncs out, and each must be noticed.
func TestMistakesThatPowerFailuresShow(t *testing.T) {
	var syncs atomic.Int64
	for name, forget := range map[string]func(string) bool{
		"log files are not synced": isLogFile,
		"one of five syncs of log files is left out": func(name string) bool {
			return isLogFile(name) && syncs.Add(1)%5 == 0
		},
		"manifests are not synced": isManifest,
		"tables are not synced":    isTable,
		"the directory is not synced": func(name string) bool {
			return filepath.Ext(name) == "" &&
				!isManifest(name)
		},
		"what is renamed is not synced": func(name string) bool { return strings.HasSuffix(name, ".dbtmp") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run := &powerRun{random: powerRandom(t), left: 20000, forget: forget}
			err := run.run()
			if err == nil {
				t.Fatalf("it was not noticed in %d images", run.images)
			}
			t.Logf("noticed after %d images: %.300v", run.images, err)
		})
	}
}
