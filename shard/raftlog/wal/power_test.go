package wal

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/signalbox/signalbox/shard/raftlog/raftlogtest/outage"
)

var (
	walImages = flag.Int("wal.images", 600, "how many images of power failures the log is opened on")
	walSeed   = flag.Uint64("wal.seed", 0,
		"the seed of what is written and where the power fails; 0: another one each time")
)

func testRandom(t testing.TB) *rand.Rand {
	seed := *walSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("-wal.seed=%d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

type (
	// asked is noted before a step, and safe when it is durable. The number is that of the resulting state.
	asked struct {
		state int
		what  string
	}
	safe struct {
		state int
		end   End // as possibly recorded by another file
	}
)

// span is the permitted states of a log: from the last state that must be safe to the last requested one. It does not
// end before the known end.
type span struct {
	low, high int
	end       End
}

func (s span) noted(note any) span {
	switch n := note.(type) {
	case asked:
		s.high = n.state
	case safe:
		s.low, s.end = n.state, n.end
	}
	return s
}

// era is a log's run, from an opening to a power failure or a kill.
type era struct {
	recording *outage.Recording
	states    []map[Key]string // after each step
	texts     []string
	begin     span
}

func (e *era) add(texts map[Key]string) int {
	e.states = append(e.states, maps.Clone(texts))
	e.texts = append(e.texts, textOf(texts))
	return len(e.states) - 1
}

// find returns the log's state.
func (e *era) find(v *values, allowed span) (int, error) {
	text := v.String()
	for state := allowed.high; state >= allowed.low; state-- {
		if e.texts[state] == text {
			return state, nil
		}
	}
	if other := slices.Index(e.texts, text); other >= 0 {
		return 0, fmt.Errorf("it has state %d, must have %d, and %d was asked for", other, allowed.low, allowed.high)
	}
	return 0, fmt.Errorf("it has what it never had:\n%s\nand not what it must have:\n%s", text, e.texts[allowed.low])
}

// power is a test of power failures.
type power struct {
	random *rand.Rand
	left   int // images to be opened
	images int
	eras   int
	forget func(name string) bool
}

// live runs steps of a log on a disk, with a recording. states are its permitted states when it opens.
func (p *power) live(disk *outage.Disk, states []map[Key]string, begin span, steps int) (_ *era, err error) {
	fs := newMemory()
	if err := disk.Put(testRoot, fs, testRoot); err != nil {
		return nil, err
	}
	memory := memoryDisk(fs)
	r := outage.NewRecorder(fs, func(name string) (outage.DataFile, error) { return memory.OpenData(name) }, disk)
	r.Forget = p.forget
	e := &era{begin: begin}
	for _, state := range states {
		e.add(state)
	}
	options := testOptions(recordedDisk(r))
	options.Least = begin.end
	v, err := openValues(options)
	if err != nil {
		return nil, fmt.Errorf("open: %w", err)
	}
	defer func() {
		e.recording = r.Recording()
		err = errors.Join(err, v.log.Close())
	}()
	found, err := e.find(v, begin)
	if err != nil {
		return nil, err
	}
	r.Note(asked{e.add(e.states[found]), "open"})
	r.Note(safe{len(e.states) - 1, v.log.End()})
	for range steps {
		if p.random.IntN(40) == 0 {
			if err := v.log.Close(); err != nil {
				return nil, err
			}
			options.Least = v.log.End()
			r.Note(safe{len(e.states) - 1, options.Least})
			if v, err = openValues(options); err != nil {
				return nil, fmt.Errorf("open again: %w", err)
			}
		}
		if err := p.step(e, v, r); err != nil {
			return nil, err
		}
	}
	return e, nil
}

// step changes some values, with or without a sync.
func (p *power) step(e *era, v *values, r *outage.Recorder) error {
	now := maps.Clone(e.states[len(e.states)-1])
	var last Place
	for range 1 + p.random.IntN(3) {
		key := Key{uint64(p.random.IntN(3)), uint64(p.random.IntN(3))}
		size := p.random.IntN([]int{20, 300, 6000, 50000}[p.random.IntN(4)])
		kind, text := kindSet, textOfNumber(p.random.Int(), size)
		if p.random.IntN(8) == 0 {
			kind, text = kindDelete, ""
		}
		if delete(now, key); kind == kindSet {
			now[key] = text
		}
		r.Note(asked{e.add(now), "change"})
		at, err := v.change(key, kind, text)
		if err != nil {
			return err
		}
		last = at
	}
	if p.random.IntN(5) == 0 {
		v.log.Reclaim()
	}
	if p.random.IntN(3) == 0 {
		return nil
	}
	if err := v.log.Sync(last); err != nil {
		return err
	}
	r.Note(safe{len(e.states) - 1, v.log.End()})
	return nil
}

// open opens a log on an image, and returns its state.
func (p *power) open(e *era, image *outage.Disk, allowed span) (state int, err error) {
	fs := newMemory()
	if err := image.Put(testRoot, fs, testRoot); err != nil {
		return 0, err
	}
	options := testOptions(memoryDisk(fs))
	options.Least = allowed.end
	v, err := openValues(options)
	if err != nil {
		return 0, fmt.Errorf("open: %w", err)
	}
	state, err = e.find(v, allowed)
	return state, errors.Join(err, v.log.Close())
}

// run runs eras, each on the previous one's remains, and opens logs on their images.
func (p *power) run() error {
	for p.left > 0 {
		disk, states, begin := outage.NewDisk(testRoot), []map[Key]string{{}}, span{}
		for range 4 {
			e, err := p.live(disk, states, begin, 1+p.random.IntN(60))
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
func (p *power) fail(e *era) (next *outage.Disk, states []map[Key]string, begin span, err error) {
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
		var state int
		state, err = p.open(e, image, allowed)
		next, states, begin = image.Clone(), []map[Key]string{e.states[state]}, span{end: allowed.end}
		return false
	})
	return next, states, begin, err
}

// look opens logs on images of one time.
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

// TestPowerFailures opens the log on possible remains of power failures and kills, and finds everything synced and
// nothing that was never appended, in append order.
func TestPowerFailures(t *testing.T) {
	p := &power{random: testRandom(t), left: *walImages}
	if err := p.run(); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d images in %d eras", p.images, p.eras)
}

// TestMistakesThatPowerFailuresShow plants bugs, each to be detected.
func TestMistakesThatPowerFailuresShow(t *testing.T) {
	var syncs atomic.Int64
	isSegment := func(name string) bool { return filepath.Ext(name) == segmentSuffix }
	for name, p := range map[string]*power{
		"records are not synced": {forget: isSegment},
		"one of five syncs of records is left out": {forget: func(name string) bool {
			return isSegment(name) && syncs.Add(1)%5 == 0
		}},
		"a segment is not synced before it has its name": {forget: func(name string) bool {
			return strings.HasSuffix(name, partialName)
		}},
		"the directory is not synced":       {forget: func(name string) bool { return name == testDir }},
		"the directory above is not synced": {forget: func(name string) bool { return name == testRoot }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p.random, p.left = testRandom(t), 30000
			err := p.run()
			if err == nil {
				t.Fatalf("it was not noticed in %d images", p.images)
			}
			t.Logf("noticed after %d images: %.300v", p.images, err)
		})
	}
}

// TestAPowerFailureAfterAKill kills a process at every point of its first opening and its first steps. The next process
// continues with the remains, possibly not synced by the first, until the power fails.
func TestAPowerFailureAfterAKill(t *testing.T) {
	p := &power{random: testRandom(t)}
	first, err := p.live(outage.NewDisk(testRoot), []map[Key]string{{}}, span{}, 6)
	if err != nil {
		t.Fatal(err)
	}
	killed := first.begin
	first.recording.Replay(func(at int, d *outage.Disk, note any) bool {
		killed = killed.noted(note)
		second, err := p.live(d, first.states, killed, 1)
		if err != nil {
			t.Errorf("killed after event %d: %v", at, err)
			return false
		}
		allowed := killed
		second.recording.Replay(func(last int, d *outage.Disk, note any) bool {
			allowed = allowed.noted(note)
			if _, ok := note.(safe); !ok && last < second.recording.Len()-1 {
				return true
			}
			for _, draw := range outage.Extremes {
				if _, err := p.open(second, d.Image(draw), allowed); err != nil {
					t.Errorf("killed after event %d: %v", at, err)
				}
			}
			return true
		})
		return !t.Failed()
	})
}
