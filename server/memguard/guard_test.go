package memguard

import (
	"errors"
	"math"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox/signalbox/shard"
)

const mib = 1 << 20

// testMemory is memory with usage set by the test.
type testMemory struct {
	sync.Mutex
	usage     Usage
	collected int
	live      uint64 // in use after a garbage collection
}

func (m *testMemory) measure() Usage {
	m.Lock()
	defer m.Unlock()
	return m.usage
}

func (m *testMemory) collect() {
	m.Lock()
	defer m.Unlock()
	m.collected++
	m.usage = Usage{Live: m.live, InUse: m.live}
}

// set sets the usage, and the usage after a collection, and returns the number of collections so far.
func (m *testMemory) set(usage Usage, live uint64) (collected int) {
	m.Lock()
	defer m.Unlock()
	m.usage, m.live = usage, live
	return m.collected
}

func (m *testMemory) config() Config {
	return Config{Limit: 100 * mib, High: 75 * mib, Measure: m.measure, Collect: m.collect}
}

func TestGrowthIsRefusedAboveTheHighMarkUntilMemoryIsFreed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &testMemory{}
		g := Start(m.config())
		defer g.Close()
		use := func(live uint64) {
			m.set(Usage{Live: live * mib, InUse: live * mib}, live*mib)
			time.Sleep(2 * DefaultInterval)
			synctest.Wait()
		}
		for _, step := range []struct {
			live uint64
			full bool
		}{{75, false}, {76, true}, {75, true}, {71, true}, {70, false}, {75, false}, {99, true}} {
			use(step.live)
			if err := g.Guard(); errors.Is(err, shard.ErrMemoryFull) != step.full {
				t.Errorf("%d of 100 MiB are in use: %v", step.live, err)
			}
		}
		if text := g.Guard().Error(); !strings.Contains(text, "99 MiB are in use, changes are accepted below 70 MiB") {
			t.Error(text)
		}
		if err := g.Fits(0); !errors.Is(err, shard.ErrMemoryFull) {
			t.Error(err)
		}
		use(40)
		if err := errors.Join(g.Guard(), g.Fits(35*mib), g.FitsState(28*mib)); err != nil {
			t.Error(err)
		}
		if g.Fits(36*mib) == nil || g.FitsState(29*mib) == nil {
			t.Error("more fits than there is")
		}
	})
}

// TestGarbageIsCollectedInDoubt: memory allocated since the last collection may be in use, and memory in use at the
// last collection may be free by now while growth is refused.
func TestGarbageIsCollectedInDoubt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &testMemory{}
		g := Start(m.config())
		defer g.Close()
		at := func(live, inUse, found uint64) (collected int) {
			before := m.set(Usage{Live: live * mib, InUse: inUse * mib}, found*mib)
			time.Sleep(2 * DefaultInterval)
			synctest.Wait()
			m.Lock()
			defer m.Unlock()
			return m.collected - before
		}
		if n := at(50, 87, 50); n != 0 {
			t.Errorf("garbage was collected %d times without a doubt", n)
		}
		if n := at(50, 88, 80); n == 0 || g.Guard() == nil {
			t.Errorf("80 MiB are in use unnoticed, after %d collections: %v", n, g.Guard())
		}
		if n := at(80, 80, 20); n == 0 || g.Guard() != nil {
			t.Errorf("20 MiB are in use, after %d collections: %v", n, g.Guard())
		}
	})
}

func TestCollectionsTakeAShareOfTheTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &testMemory{live: 80 * mib, usage: Usage{Live: 80 * mib, InUse: 80 * mib}}
		config, took := m.config(), time.Duration(0)
		config.Collect = func() {
			m.collect()
			time.Sleep(time.Second)
			took += time.Second
		}
		g := Start(config)
		time.Sleep(time.Minute)
		g.Close()
		if took < 4*time.Second || took > time.Minute/9 {
			t.Errorf("%v of a minute went by with collections", took)
		}
	})
}

func TestMeasurementsAreMoreFrequentWhereLittleIsLeft(t *testing.T) {
	for inUse, want := range map[uint64]time.Duration{
		0: DefaultInterval, 1500: 500 * time.Millisecond, 1990: leastInterval, 3000: leastInterval,
	} {
		g := &Guard{config: Config{Limit: 2000 * mib}}
		g.usage.Store(&Usage{InUse: inUse * mib})
		if is := g.interval(); is < want*9/10 || is > want*11/10 {
			t.Errorf("%d of 2000 MiB are in use: %v, want about %v", inUse, is, want)
		}
	}
}

func TestTheRuntimeIsMeasured(t *testing.T) {
	runtime.GC()
	before := measureRuntime()
	held := make([]byte, 64*mib)
	if now := measureRuntime(); now.InUse < before.InUse+63*mib {
		t.Errorf("64 MiB more are in use: %v, %v", before, now)
	}
	runtime.GC()
	if now := measureRuntime(); now.Live < before.Live+63*mib || now.Live > before.Live+80*mib {
		t.Errorf("64 MiB more are in use after a collection: %v, %v", before, now)
	}
	runtime.KeepAlive(held)
	held = nil
	runtime.GC()
	if now := measureRuntime(); now.Live > before.Live+16*mib {
		t.Errorf("nothing more is in use: %v, %v", before, now)
	}
}

func TestUnknownMemoryRefusesNothing(t *testing.T) {
	if config := Budget(0).Guard(nil); config.Limit > math.MaxInt64 || config.High < math.MaxInt64/2 {
		t.Errorf("%+v", config)
	}
}
