package logdb

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/signalbox/signalbox/shard/raftlog/raftlogtest/outage"
)

var (
	powerImages = flag.Int("logdb.images", 600, "how many images of power failures the store is opened on")
	powerSeed   = flag.Uint64("logdb.seed", 0,
		"the seed of what is saved and where the power fails; 0: another one each time")
)

func testRandom(t testing.TB) *rand.Rand {
	seed := *powerSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("-logdb.seed=%d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

type (
	// asked is noted before a step, and safe when it is durable. The number is that of the resulting state.
	asked struct {
		state int
		what  string
	}
	safe struct{ state int }
)

// span is the permitted states of a store: from the last state that must be safe to the last requested one.
type span struct{ low, high int }

func (s span) noted(note any) span {
	switch n := note.(type) {
	case asked:
		s.high = n.state
	case safe:
		s.low = n.state
	}
	return s
}

// era is a store's run, from an opening to a power failure or a kill.
type era struct {
	recording *outage.Recording
	closed    *outage.Recording // the same, including the store's close
	states    []*model          // after each step
	texts     []string
	begin     span
}

func (e *era) add(m *model) int {
	e.states = append(e.states, m.clone())
	e.texts = append(e.texts, m.String())
	return len(e.states) - 1
}

// find returns the store's state. The model gets the store's commit positions.
func (e *era) find(db *DB, allowed span) (*model, error) {
	text, commits, err := contents(db)
	if err != nil {
		return nil, fmt.Errorf("read: %w", err)
	}
	for state := allowed.high; state >= allowed.low; state-- {
		if e.texts[state] == text && e.states[state].allows(commits) {
			m := e.states[state].clone()
			for i, commit := range commits {
				m[i].state.Commit = commit
			}
			return m, nil
		}
	}
	if other := slices.Index(e.texts, text); other >= 0 {
		return nil, fmt.Errorf("it has state %d with commit positions %v, must have %d, and %d was asked for", other,
			commits, allowed.low, allowed.high)
	}
	return nil, fmt.Errorf("it has what it never had:\n%s\nand not what it must have:\n%s", text, e.texts[allowed.low])
}

// power is a test of power failures.
type power struct {
	random *rand.Rand
	left   int // images to be opened
	images int
	eras   int
	forget func(name string) bool
}

// live runs steps of a store on a disk, with a recording. states are its permitted states when it opens.
func (p *power) live(disk *outage.Disk, states []*model, begin span, steps int) (_ *era, err error) {
	fs := newMemory()
	if err := disk.Put(testDir, fs, testDir); err != nil {
		return nil, err
	}
	memory := memoryDisk(fs)
	r := outage.NewRecorder(fs, func(name string) (outage.DataFile, error) { return memory.OpenData(name) }, disk)
	r.Forget = p.forget
	e := &era{begin: begin}
	for _, m := range states {
		e.add(m)
	}
	db, err := openOn(recordedDisk(r))
	if err != nil {
		return nil, fmt.Errorf("open: %w", err)
	}
	defer func() {
		e.recording = r.Recording()
		err = errors.Join(err, db.Close())
		e.closed = r.Recording()
	}()
	now, err := e.find(db, begin)
	if err != nil {
		return nil, err
	}
	r.Note(asked{e.add(now), "open"})
	r.Note(safe{len(e.states) - 1})
	for range steps {
		if p.random.IntN(60) == 0 {
			if db, err = p.reopen(e, db, now, r); err != nil {
				return nil, err
			}
		}
		step := now.next(p.random)
		for _, m := range step.between {
			e.add(m)
		}
		state := e.add(now)
		r.Note(asked{state, step.name})
		if err := step.do(db); err != nil {
			return nil, fmt.Errorf("%s: %w", step.name, err)
		}
		if !step.volatile {
			r.Note(safe{state})
		}
	}
	_, err = e.find(db, span{len(e.states) - 1, len(e.states) - 1})
	return e, err
}

// reopen closes a store and opens it again, with the same commit positions.
func (p *power) reopen(e *era, db *DB, now *model, r *outage.Recorder) (*DB, error) {
	for i := range now {
		now[i].logged = now[i].state.Commit
	}
	state := e.add(now)
	r.Note(asked{state, "close"})
	if err := db.Close(); err != nil {
		return db, err
	}
	r.Note(safe{state})
	again, err := openOn(recordedDisk(r))
	if err != nil {
		return db, fmt.Errorf("open again: %w", err)
	}
	_, err = e.find(again, span{state, state})
	return again, err
}

// open opens a store on an image, and returns its state.
func (p *power) open(e *era, image *outage.Disk, allowed span) (m *model, err error) {
	fs := newMemory()
	if err := image.Put(testDir, fs, testDir); err != nil {
		return nil, err
	}
	db, err := openOn(memoryDisk(fs))
	if err != nil {
		return nil, fmt.Errorf("open: %w", err)
	}
	m, err = e.find(db, allowed)
	return m, errors.Join(err, db.Close())
}

// run runs eras, each on the previous one's remains, and opens stores on their images.
func (p *power) run() error {
	for p.left > 0 {
		disk, states, begin := outage.NewDisk(testDir), []*model{newModel()}, span{}
		for range 4 {
			e, err := p.live(disk, states, begin, 1+p.random.IntN(120))
			if err == nil {
				disk, states, begin, err = p.fail(e)
			}
			if err != nil {
				return fmt.Errorf("era %d: %w", p.eras, err)
			}
			if p.eras++; p.left <= 0 {
				break
			}
		}
	}
	return nil
}

// fail checks an era at several times, and returns the next era's start.
func (p *power) fail(e *era) (next *outage.Disk, states []*model, begin span, err error) {
	allowed := e.begin
	density := 1 + e.recording.Len()/30
	end := p.random.IntN(e.recording.Len())
	e.recording.Replay(func(at int, d *outage.Disk, note any) bool {
		allowed = allowed.noted(note)
		if at == end || p.random.IntN(density) == 0 {
			err = p.look(e, d, at, allowed)
		}
		if at != end || err != nil {
			return err == nil && p.left > 0
		}
		if p.random.IntN(3) == 0 { // after a kill the disk has everything
			next, states, begin = d.Clone(), e.states, allowed
			return false
		}
		image := d.Image(outage.RandomDraw(p.random))
		var m *model
		m, err = p.open(e, image, allowed)
		next, states = image.Clone(), []*model{m}
		return false
	})
	return next, states, begin, err
}

// look opens stores on images of one time.
func (p *power) look(e *era, d *outage.Disk, at int, allowed span) error {
	draws := slices.Clone(outage.Extremes[:d.Draws()])
	for range 3 {
		if d.Draws() > 1 {
			draws = append(draws, outage.RandomDraw(p.random))
		}
	}
	for i, draw := range draws {
		if _, err := p.open(e, d.Image(draw), allowed); err != nil {
			return fmt.Errorf("after event %d of %d, image %d: %w\n%s", at, e.recording.Len(), i, err,
				e.recording.Describe(at, 40))
		}
		p.images++
		p.left--
	}
	return nil
}

// TestPowerFailures opens the store on possible remains of power failures and kills, and finds everything acknowledged
// and nothing that was never saved, with commit positions acceptable to the engine.
func TestPowerFailures(t *testing.T) {
	p := &power{random: testRandom(t), left: *powerImages}
	if err := p.run(); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d images in %d eras", p.images, p.eras)
}

// TestMistakesThatPowerFailuresShow omits syncs, and each omission must be detected.
func TestMistakesThatPowerFailuresShow(t *testing.T) {
	var syncs atomic.Int64
	isLog := func(name string) bool { return filepath.Ext(name) == ".wal" }
	for name, forget := range map[string]func(string) bool{
		"the log is not synced":             isLog,
		"one of five syncs is left out":     func(name string) bool { return isLog(name) && syncs.Add(1)%5 == 0 },
		"the directory is not synced":       func(name string) bool { return filepath.Base(name) == logDir },
		"the directory above is not synced": func(name string) bool { return name == testDir },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := &power{random: testRandom(t), left: 20000, forget: forget}
			err := p.run()
			if err == nil {
				t.Fatalf("it was not noticed in %d images", p.images)
			}
			t.Logf("noticed after %d images: %.300v", p.images, err)
		})
	}
}
