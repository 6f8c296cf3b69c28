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

// Host has the replicas of a process, and so the logs of all shards. Any goroutine may call the methods.
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
	scratches     atomic.Uint64 // how many calls of withScratch have begun
	// own is the transport of a host without a transport in the config.
	own *transport.Transport

	// lifecycle has a token while Start, Join or Discard runs, and while Salvage or Regroup changes something. The
	// token is taken before mu. It is no mutex because the holders wait for the engine, and the time of a bubble of
	// testing/synctest stands still while a goroutine waits for a mutex.
	lifecycle chan struct{}
	closed    bool // guarded by lifecycle

	mu      sync.Mutex                      // held while logs is replaced
	logs    atomic.Pointer[map[uint64]*Log] // the map is never written to
	stopped map[uint64]time.Time            // guarded by mu; when the last replica of a shard was stopped

	stop    chan struct{}
	ending  atomic.Bool
	ended   chan struct{} // closed when Close is done
	running sync.WaitGroup
}

// Open claims the data directory of a config, and connects to other hosts through the transport of the config. No shard
// runs before Start or Join.
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
	lock, err := claimDirectory(c, disk)
	if err != nil {
		return nil, err
	}
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
	enginePanicked.Store(nil) // an earlier panic does not explain an error of this call
	store := disk.store(c)
	store.opened = h.store.Store // before the engine starts the transport, which asks the store
	h.engine, err = dragonboat.NewNodeHost(c.engineConfig(h.events, factory, disk, store))
	if store.err != nil {
		err = store.err
	}
	if err == nil && h.engine == nil {
		// The engine swallows its own panic if the value is no error.
		err = errors.New(lastEnginePanic())
	}
	if full := disk.full.Load(); err != nil && full != nil {
		err = *full // the engine may have named another cause
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

// register makes the log of a shard known, so that the log gets every event of leadership.
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

// log returns the open log of a shard, nil for none. It is called for every message.
func (h *Host) log(shardID uint64) *Log { return (*h.logs.Load())[shardID] }

// setLog replaces the log of a shard; nil stands for none. The lock is held.
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

// change begins a change of the running replicas, one change after the other. The returned function ends the change.
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
