package transport

import (
	"context"
	"errors"
	"net"
	"syscall"
	"time"

	"github.com/lni/dragonboat/v4/raftio"
	"github.com/lni/dragonboat/v4/raftpb"
)

// Stand makes a local replica stand for election, to replace a leader whose process has ended.
type Stand struct {
	After time.Duration // since the process ended
	// Message returns the message for the engine, false if the leader has a successor by now.
	Message func() (raftpb.Message, bool)
}

const (
	// processEndWait is how long a host checks whether a peer's process has ended, and processEndInterval the
	// interval. The kernel closes a process's files one after the other, so its listener may outlive a connection.
	processEndWait     = 2 * time.Second
	processEndInterval = 20 * time.Millisecond
)

// awaitProcessEnd checks whether a peer's process has ended after its connection ended, and if so makes replicas stand
// for election.
func (e *engineEnd) awaitProcessEnd(peer *Peer, ended net.Conn) {
	ctx, cancel := context.WithTimeout(e.ctx, processEndWait)
	defer cancel()
	for !e.isDead(ctx, peer) {
		if e.connected(peer, ended) || !sleep(ctx, processEndInterval) {
			return
		}
	}
	since := time.Now()
	for _, s := range e.replicas.Died(peer.Host) {
		if !sleep(e.ctx, time.Until(since.Add(s.After))) {
			return
		}
		if m, still := s.Message(); still {
			e.deliver(m)
			go e.standAgain(m)
		}
	}
}

const (
	// standAgainAfter is the delay before a replica is asked again to stand for election. The delay doubles with every
	// further request, up to standAgainFor: a leader that requested a successor resumes leading after an election
	// timeout.
	standAgainAfter = 2 * time.Millisecond
	standAgainFor   = 128 * time.Millisecond
)

// standAgain repeats the request to stand for election while the replica is in the request's term. An engine with
// committed entries still to apply skips the election and forgets the request, and the leader drops all proposals until
// an election timeout has passed.
func (e *engineEnd) standAgain(m raftpb.Message) {
	for after := standAgainAfter; after <= standAgainFor; after *= 2 {
		if !sleep(e.ctx, after) || e.replicas.Term(m.ShardID) != m.Term {
			return
		}
		e.deliver(m)
	}
}

// isDead reports whether no process listens at a peer's address. Only a refused connection proves that; a silent peer,
// or a connection reset somewhere on the network, does not.
func (e *engineEnd) isDead(ctx context.Context, peer *Peer) bool {
	to, known := e.lookUp(peer.Host)
	if !known || to.Incarnation != peer.Incarnation {
		return false
	}
	d, err := e.dial(ctx, to, purposeCall)
	if err == nil {
		d.close()
	}
	return errors.Is(err, syscall.ECONNREFUSED)
}

// connected reports whether the peer has another connection for engine frames here.
func (e *engineEnd) connected(peer *Peer, ended net.Conn) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	for conn, a := range e.accepted {
		if conn != ended && a.purpose == purposeFrames && a.peer.Host == peer.Host {
			return true
		}
	}
	return false
}

// sleep waits, and returns false if the context ends first.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// deliver passes a message to the engine, unless the engine is closed.
func (e *engineEnd) deliver(m raftpb.Message) {
	e.mu.Lock()
	if e.engine != e {
		e.mu.Unlock()
		return
	}
	e.running.Add(1)
	e.mu.Unlock()
	defer e.running.Done()
	e.onMessages(raftpb.MessageBatch{
		DeploymentId: e.deployment, BinVer: raftio.TransportBinVersion, Requests: []raftpb.Message{m},
	})
}
