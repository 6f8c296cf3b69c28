package raftlog

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/lni/dragonboat/v4"
	"github.com/lni/dragonboat/v4/statemachine"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/raftlog/logdb"
	"github.com/signalbox/signalbox/shard/raftlog/transport"
)

// Host is the replicas of one process: the logs of all its shards. Its methods may be called from any goroutine.
type Host struct {
	config Config
	tls    *transport.TLSConfigs // nil: plain TCP
	engine *dragonboat.NodeHost
	lock   *directoryLock
	events *events
	store  *logdb.DB
	// followers is filled by the transport.
	followers *followers

	lifecycle sync.Mutex // held by Start, and by Close until it begins; locked before mu
	closed    bool       // guarded by lifecycle

	mu   sync.RWMutex
	logs map[uint64]*Log // guarded by mu

	stop      chan struct{}
	closeOnce sync.Once
	running   sync.WaitGroup
}

// Open claims the data directory and the address of a config and connects to the other members. No shard runs before
// Start.
func Open(config Config) (*Host, error) {
	config = config.withDefaults()
	if err := config.Validate(); err != nil {
		return nil, err
	}
	config.Members = maps.Clone(config.Members) // read by many goroutines from now on
	return open(config, systemDisk())
}

func open(c Config, disk *disk) (_ *Host, err error) {
	h := &Host{
		config: c, followers: newFollowers(), logs: make(map[uint64]*Log), stop: make(chan struct{}),
	}
	if c.TLS != nil {
		if h.tls, err = loadTLS(c.TLS); err != nil {
			return nil, err
		}
	}
	factory := h.transport()
	lock, err := claimDirectory(c, disk.FS)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			lock.release()
		}
	}()
	disk.damaged = c.Damaged
	if err := verifyFiles(disk.FS, c.DataDir); err != nil {
		return nil, err
	}
	if !c.alone() {
		// Listening must fail before the engine binds the directory to the address.
		listener, failed := net.Listen("tcp", c.listenAddress())
		if failed != nil {
			return nil, fmt.Errorf("raftlog: listen for other hosts: %w", failed)
		}
		factory.Listener = listener
		defer func() {
			if err != nil {
				listener.Close()
			}
		}()
	}
	routeEngineLog(c.Logger)
	reportEntrySlices(c.Logger)
	h.lock = lock
	h.events = newEvents(h)
	enginePanicked.Store(nil) // an earlier panic does not explain an error of this call
	store := disk.store(c)
	h.engine, err = dragonboat.NewNodeHost(c.engineConfig(h.events, factory, disk, store))
	h.store = store.db
	if store.err != nil {
		err = store.err
	}
	if err == nil && h.engine == nil {
		// The engine swallows a panic of its own whose value is no error.
		err = errors.New(lastEnginePanic())
	}
	if err != nil {
		return nil, explainOpen(c, err)
	}
	if err := lock.record(c, disk.FS); err != nil {
		h.engine.Close()
		return nil, err
	}
	h.running.Go(func() { h.events.run(h.stop) })
	if c.Full != nil && !c.alone() {
		h.running.Go(h.watchDisks)
	}
	return h, nil
}

// transport returns what makes the transport of the host, without a listener.
func (h *Host) transport() *transport.Factory {
	c := &h.config
	return &transport.Factory{Config: transport.Config{
		Host: c.Host, Members: c.Members, Deployment: c.Deployment, Secret: c.Secret, TLS: h.tls,
		Runs:     func(shardID uint64) bool { return h.log(shardID) != nil },
		Received: h.received, Sending: h.sending, Takes: h.takesOf, Refused: c.Refused, Logger: c.Logger,
	}}
}

// loadTLS reads the files of TLS.
func loadTLS(files *transport.TLS) (*transport.TLSConfigs, error) {
	configs, err := files.Load()
	if errors.Is(err, transport.ErrNoAuthority) {
		return nil, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	if err != nil {
		return nil, fmt.Errorf("raftlog: %w", err)
	}
	return configs, nil
}

// Start starts this host's replica of a shard, or starts it again. The members are the hosts with a replica of the
// shard, all of the config where none is named. They count when the shard is new on this host, and must then be the
// same on all of them. Start returns before the replica has read its snapshot and its log.
//
// The state machine must be empty. It gets the shard's entries until the log is closed.
func (h *Host) Start(shardID uint64, target shard.StateMachine, members ...shard.HostID) (shard.Log, error) {
	if len(members) == 0 {
		members = h.config.memberIDs()
	}
	initial := make(map[uint64]dragonboat.Target, len(members))
	for _, id := range members {
		address, ok := h.config.Members[id]
		if !ok {
			return nil, fmt.Errorf("raftlog: start shard %d: host %d is no member of the cluster: %w", shardID, id,
				shard.ErrNotMember)
		}
		initial[uint64(id)] = address
	}
	if !slices.Contains(members, h.config.Host) {
		return nil, fmt.Errorf("raftlog: start shard %d on host %d: %w", shardID, h.config.Host, shard.ErrNotMember)
	}
	h.lifecycle.Lock()
	defer h.lifecycle.Unlock()
	l, err := h.register(shardID, members, target)
	if err != nil {
		return nil, err
	}
	if h.engine.HasNodeInfo(shardID, uint64(h.config.Host)) {
		initial = nil // the log has the members
	}
	create := func(_, _ uint64) statemachine.IConcurrentStateMachine { return l.machine }
	if err := h.engine.StartConcurrentReplica(initial, false, create, h.config.replicaConfig(shardID)); err != nil {
		h.forget(l)
		return nil, fmt.Errorf("raftlog: start shard %d: %w", shardID, err)
	}
	l.start()
	return l, nil
}

// CertificateExpires returns when the certificate expires that this host shows to others, which was read when the host
// was opened. It returns the zero time where hosts do not use TLS.
func (h *Host) CertificateExpires() time.Time {
	if h.tls == nil {
		return time.Time{}
	}
	return h.tls.Expires()
}

// register makes the log of a shard known, so that it gets every event of leadership.
func (h *Host) register(shardID uint64, members []shard.HostID, target shard.StateMachine) (*Log, error) {
	if h.closed {
		return nil, fmt.Errorf("raftlog: start shard %d: %w", shardID, ErrHostClosed)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.logs[shardID] != nil {
		return nil, fmt.Errorf("raftlog: start shard %d: %w", shardID, ErrShardStarted)
	}
	l := newLog(h, shardID, slices.Clone(members), target)
	h.logs[shardID] = l
	return l, nil
}

func (h *Host) log(shardID uint64) *Log {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return h.logs[shardID]
}

// logsByShard returns the open logs, smallest shard first.
func (h *Host) logsByShard() []*Log {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return slices.SortedFunc(maps.Values(h.logs), func(a, b *Log) int { return cmp.Compare(a.shardID, b.shardID) })
}

func (h *Host) forget(l *Log) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.logs, l.shardID)
}

// Close closes every log and then the host. It waits as Log.Close does.
func (h *Host) Close() error {
	h.closeOnce.Do(func() {
		h.lifecycle.Lock()
		h.closed = true
		h.lifecycle.Unlock()
		var closing sync.WaitGroup
		for _, l := range h.logsByShard() {
			closing.Go(func() { l.Close() })
		}
		closing.Wait()
		close(h.stop)
		h.running.Wait()
		h.engine.Close()
		h.lock.release()
	})
	return nil
}
