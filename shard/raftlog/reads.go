package raftlog

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// readGate admits reads into the engine for one shard, and holds them back while the second-to-last voter is removed.
type readGate struct {
	// entered has a token while the membership is read, and while the gate is held. A caller that waits for the token
	// depends on a majority, so entered is not a mutex: in a synctest bubble time does not advance while a goroutine
	// waits for a mutex.
	entered chan struct{}

	mu   sync.RWMutex // shared while a read is handed to the engine
	held bool         // guarded by mu
}

// errReadsHeld refuses reads while the gate is held. A retried read finds the gate open.
var errReadsHeld = errors.New("the last voter but one is being removed")

func newReadGate() readGate { return readGate{entered: make(chan struct{}, 1)} }

// begin hands a read to the engine, unless the gate is held.
func (g *readGate) begin(read func() error) error {
	g.mu.RLock()
	defer g.mu.RUnlock()
	if g.held {
		return errReadsHeld
	}
	return read()
}

func (g *readGate) isHeld() bool {
	g.mu.RLock()
	defer g.mu.RUnlock()
	return g.held
}

// enter waits until no other caller reads the membership, and the gate is open.
func (g *readGate) enter(ctx context.Context) (leave func(), err error) {
	select {
	case g.entered <- struct{}{}:
		return func() { <-g.entered }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// holdReads holds the gate. The engine then has all reads that were begun, and gets no others except from the caller.
func (l *Log) holdReads(ctx context.Context) (release func(), err error) {
	ctx, cancel := context.WithTimeout(ctx, l.host.config.BarrierTimeout)
	defer cancel()
	leave, err := l.reads.enter(ctx)
	if err != nil {
		return nil, fmt.Errorf("hold the reads of the shard: %w", readError(err))
	}
	l.reads.hold(true)
	return func() {
		l.reads.hold(false)
		leave()
	}, nil
}

func (g *readGate) hold(held bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.held = held
}
