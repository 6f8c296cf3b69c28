package raftlog

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lni/dragonboat/v4"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/raftlog/logdb"
	"github.com/signalbox/signalbox/shard/raftlog/transport"
)

// Host has a process's replicas, and so the logs for all shards. Its methods are safe for concurrent use.
type Host struct {
	config   Config
	engine   *dragonboat.NodeHost
	lock     *directoryLock
	events   *events
	store    atomic.Pointer[logdb.DB]
	replicas *replicas
	// followers and sendings are filled by the transport.
	followers     *followers
	confirmations *confirmations
	sendings      sendings
	saves         *saves
	scratches     atomic.Uint64 // how many withScratch calls have begun
	shardBytes    atomic.Uint64 // as Config.ShardBytes
	// own is the host's own transport if the config has none.
	own *transport.Transport

	// lifecycle has a token while Start, Join or Discard runs, and while Salvage or Regroup changes something. The
	// token is taken before mu. It is not a mutex because the holders wait for the engine, and in a testing/synctest
	// bubble time does not advance while a goroutine waits for a mutex.
	lifecycle chan struct{}
	closed    bool // guarded by lifecycle

	mu      sync.Mutex                      // held while logs is replaced
	logs    atomic.Pointer[map[uint64]*Log] // the map is never modified
	stopped map[uint64]time.Time            // guarded by mu; when a shard's last replica was stopped

	stop    chan struct{}
	ending  atomic.Bool
	ended   chan struct{} // closed when Close is done
	running sync.WaitGroup
}

// Open claims the config's data directory, and connects to other hosts through the config's transport. No shard runs
// before Start or Join.
func Open(config Config) (*Host, error) {
	config = config.withDefaults()
	if err := config.Validate(); err != nil {
		return nil, err
	}
	config.InitialMembers = maps.Clone(config.InitialMembers)
	return open(config, config.disk())
}

func open(c Config, disk *disk) (_ *Host, err error) {
	h := &Host{
		config: c, followers: newFollowers(), confirmations: newConfirmations(c.Confirmed),
		sendings: sendings{all: make(map[followerKey]sending)},
		saves:    newSaves(), stopped: make(map[uint64]time.Time), stop: make(chan struct{}),
		lifecycle: make(chan struct{}, 1), ended: make(chan struct{}),
	}
	h.logs.Store(&map[uint64]*Log{})
	h.shardBytes.Store(c.ShardBytes)
	lock, err := claimDirectory(&c, disk)
	if err != nil {
		return nil, err
	}
	byDisk := h.config.Workers == 0
	h.config.Workers = c.Workers
	defer func() {
		if err != nil {
			lock.release()
		}
	}()
	disk.damaged = c.Damaged
	if err := disk.RemoveAll(scratchDirectory(c.DataDir)); err != nil {
		return nil, fmt.Errorf("raftlog: remove what an earlier process has left: %w", err)
	}
	if err := verifyFiles(disk.FS, c.DataDir); err != nil {
		return nil, fmt.Errorf("raftlog: look through the data directory: %w", err)
	}
	if h.replicas, err = loadReplicas(disk.FS, c.DataDir, lock.used); err != nil {
		return nil, err
	}
	factory := &transport.Factory{Transport: c.Transport, Replicas: h}
	if c.Transport == nil {
		h.own = transport.Open(transport.Config{Identity: transport.Identity{
			Host: c.Host, Incarnation: c.Incarnation, Deployment: c.Deployment}, Logger: c.Logger})
		factory.Transport = h.own
	}
	routeEngineLog(c.Logger)
	reportEntrySlices(c.Logger)
	reportReload(c.Logger)
	reportPortions(c.Logger)
	h.lock = lock
	h.events = newEvents(h)
	enginePanicked.Store(nil) // so that an earlier panic does not explain an error here
	store := disk.store(c)
	store.opened = h.store.Store // before the engine starts the transport, which queries the store
	h.engine, err = dragonboat.NewNodeHost(c.engineConfig(h.events, factory, disk, store))
	if err != nil && byDisk && !lock.used && errors.Is(explainOpen(c, err), ErrWorkersChanged) {
		// The process that created the engine's directory ended before it wrote the record, and measured another speed.
		c.Workers = fastWorkers + slowWorkers - c.Workers
		h.config.Workers = c.Workers
		h.engine, err = dragonboat.NewNodeHost(c.engineConfig(h.events, factory, disk, store))
	}
	if store.err != nil {
		err = store.err
	}
	if err == nil && h.engine == nil {
		// The engine swallows its own panic if the value is not an error.
		err = errors.New(lastEnginePanic())
	}
	if full := disk.full.Load(); err != nil && full != nil {
		err = *full // the engine may have named a different cause
	}
	if err != nil {
		return nil, explainOpen(c, err)
	}
	if err := lock.record(c, disk.FS); err != nil {
		h.engine.Close()
		return nil, err
	}
	h.running.Go(func() { h.events.run(h.stop) })
	if c.Full != nil && c.Transport != nil {
		h.running.Go(h.watchDisks)
	}
	return h, nil
}

// register makes a shard's log known, so the log gets every leadership event.
func (h *Host) register(shardID uint64, record replicaRecord, initialMembers map[uint64]transport.Target,
	target shard.StateMachine) (*Log, error) {
	if h.closed {
		return nil, fmt.Errorf("raftlog: start shard %d: %w", shardID, ErrHostClosed)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.log(shardID) != nil {
		return nil, fmt.Errorf("raftlog: start shard %d: %w", shardID, ErrShardStarted)
	}
	l := newLog(h, shardID, record, initialMembers, target)
	h.setLog(shardID, l)
	return l, nil
}

// log returns a shard's open log, nil for none. It is called for every message.
func (h *Host) log(shardID uint64) *Log { return (*h.logs.Load())[shardID] }

// setLog replaces a shard's log; nil removes it. The caller holds the lock.
func (h *Host) setLog(shardID uint64, l *Log) {
	next := maps.Clone(*h.logs.Load())
	next[shardID] = l
	if l == nil {
		delete(next, shardID)
	}
	h.logs.Store(&next)
}

// logsByShard returns the open logs, smallest shard first.
func (h *Host) logsByShard() []*Log {
	byShard := func(a, b *Log) int { return cmp.Compare(a.shardID, b.shardID) }
	return slices.SortedFunc(maps.Values(*h.logs.Load()), byShard)
}

func (h *Host) forget(l *Log) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.log(l.shardID) == l {
		h.setLog(l.shardID, nil)
		h.stopped[l.shardID] = time.Now()
	}
}

// change begins a change to the running replicas; changes run one at a time. The returned function ends the change.
func (h *Host) change() (end func()) {
	h.lifecycle <- struct{}{}
	return func() { <-h.lifecycle }
}

// Close closes every log and then the host. Close waits as Log.Close does.
func (h *Host) Close() error {
	if h.ending.Swap(true) {
		<-h.ended
		return nil
	}
	defer close(h.ended)
	end := h.change()
	h.closed = true
	end()
	var closing sync.WaitGroup
	for _, l := range h.logsByShard() {
		closing.Go(func() { l.Close() })
	}
	closing.Wait()
	close(h.stop)
	h.running.Wait()
	h.engine.Close()
	h.lock.release()
	if h.own != nil {
		h.own.Close()
	}
	return nil
}
