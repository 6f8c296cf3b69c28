package transport

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"

	"github.com/lni/dragonboat/v4/config"
	"github.com/lni/dragonboat/v4/raftio"
	"github.com/lni/dragonboat/v4/raftpb"
	"github.com/signalbox/signalbox/shard"
)

// Route decides how to treat arriving messages for a shard. A route is replaced, never modified.
type Route struct {
	// Replica is this host's replica.
	Replica uint64
	// Members maps the replicas in the membership to their targets, as far as this host knows. A removed replica has
	// the zero target.
	Members map[uint64]Target
}

// Replicas is what the transport needs from an engine's owner. The methods must not block.
type Replicas interface {
	// Route returns a shard's route, nil if the shard does not run here.
	Route(shardID uint64) *Route
	// Takes reports whether this host accepts the next entries or snapshot chunk for a shard. At the beginning of a
	// snapshot the second argument is its total size. A part that is not accepted is dropped.
	Takes(shardID, snapshot uint64) bool
	// Has reports whether this host's replica has applied the shard's log up to an index, or has a snapshot that covers
	// it.
	Has(shardID, index uint64) bool
	// Positions returns the position of this host's newest replica in each shard; a discarded replica counts as
	// furthest.
	Positions() []Position
	// Behind returns a function that compares a host's positions with the positions the host has confirmed to this host
	// by the time of the call, and returns nil if none is behind.
	Behind(host shard.HostID) func([]Position) error
	// Received is called with a peer's messages before the engine's handler, and Sending with messages for a peer
	// before they are written. Both may modify the messages.
	Received(from shard.HostID, messages []raftpb.Message)
	Sending(messages []raftpb.Message)
	// Sent is called with every snapshot chunk after the peer has processed it.
	Sent(to shard.HostID, chunk *raftpb.Chunk)
	// Died is called when a peer's process has ended, and returns the elections to stand in, in order.
	Died(host shard.HostID) []Stand
	// Term returns the term at this host's replica, 0 if the shard does not run here.
	Term(shardID uint64) uint64
}

// Factory creates the engine's end of a transport. Factory implements config.TransportFactory.
type Factory struct {
	Transport *Transport
	Replicas  Replicas
}

// Create is called once by the engine.
func (f *Factory) Create(_ config.NodeHostConfig, messages raftio.MessageHandler,
	chunks raftio.ChunkHandler) raftio.ITransport {
	return &engineEnd{
		Transport: f.Transport, replicas: f.Replicas, onMessages: messages, onChunk: chunks,
		redialFor: redialFor, conns: make(map[net.Conn]struct{}), deployment: f.Transport.Identity().Deployment,
	}
}

// Validate is called by the engine for every target in a membership, and for every message's target.
func (*Factory) Validate(target string) bool {
	_, _, ok := cutTarget(target)
	return ok
}

// engineEnd sends and receives frames for the engine. The engine calls Start and Close once each, and dials from its
// own goroutines.
type engineEnd struct {
	*Transport
	replicas   Replicas
	onMessages raftio.MessageHandler
	onChunk    raftio.ChunkHandler
	redialFor  time.Duration
	deployment uint64 // a host with an engine never changes its identity

	running    sync.WaitGroup        // connections that feed the engine
	conns      map[net.Conn]struct{} // guarded by Transport.mu
	deliveries deliveries
}

// Name is the transport's name in the engine's log.
func (*engineEnd) Name() string { return "signalbox" }

// Start accepts frames from other hosts from now on.
func (e *engineEnd) Start() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.engine = e
	return nil
}

// Close ends the connections that feed the engine; no handler is called afterwards. The engine itself closes its
// outbound connections. Close returns no error, because an error would make the engine stop the process.
func (e *engineEnd) Close() error {
	e.mu.Lock()
	e.engine = nil
	for conn := range e.conns {
		conn.Close()
	}
	e.mu.Unlock()
	e.running.Wait()
	return nil
}

// engineEnd returns the engine's end, nil without an engine.
func (t *Transport) engineEnd() *engineEnd {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.engine
}

// enter lets a connection feed the engine, unless the engine is closed.
func (e *engineEnd) enter(conn net.Conn) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.engine != e {
		return false
	}
	e.conns[conn] = struct{}{}
	e.running.Add(1)
	return true
}

func (e *engineEnd) leave(conn net.Conn) {
	e.mu.Lock()
	delete(e.conns, conn)
	e.mu.Unlock()
	e.running.Done()
}

// serve passes a connection's frames to the engine, and returns why the connection ended.
func (e *engineEnd) serve(conn net.Conn, g greeting) error {
	frames, from := newFrameReader(conn, g.in, framesOfEngine), newOrigin(&g.peer)
	var snapshot arriving
	for {
		kind, payload, err := frames.next()
		if err == nil {
			err = e.handle(from, kind, payload, &snapshot)
		}
		if err == nil && kind == frameChunk {
			err = confirmChunk(conn, g.out)
		}
		if err != nil {
			return err
		}
	}
}

// handle passes a frame to the engine.
func (e *engineEnd) handle(from *origin, kind byte, payload []byte, snapshot *arriving) error {
	switch kind {
	case frameMessages:
		var batch raftpb.MessageBatch
		if err := batch.Unmarshal(payload); err != nil {
			return refuse(RefusedFrame, "message batch: %w", err)
		}
		if err := e.admitBatch(from, &batch); err != nil {
			return err
		}
		if len(batch.Requests) > 0 {
			e.replicas.Received(from.HostID, batch.Requests)
			for _, m := range batch.Requests {
				if m.Type == raftpb.TimeoutNow {
					go e.standAgain(m)
				}
			}
			e.onMessages(batch)
		}
	case frameChunk:
		var chunk raftpb.Chunk
		if err := chunk.Unmarshal(payload); err != nil {
			return refuse(RefusedFrame, "snapshot chunk: %w", err)
		}
		if err := e.admitChunk(from, &chunk); err != nil {
			return err
		}
		if snapshot.drops(e, &chunk) {
			return nil
		}
		if !e.onChunk(chunk) {
			return errors.New("snapshot chunk: refused")
		}
	}
	return nil
}

// GetConnection dials another host, repeatedly for redialFor if the host does not answer. Messages wait meanwhile and
// are sent afterwards. After redialFor, a search (search.go) goes on dialling.
func (e *engineEnd) GetConnection(ctx context.Context, target string) (raftio.IConnection, error) {
	to, err := ParseTarget(target)
	if err != nil {
		return nil, err
	}
	until := time.Now().Add(e.redialFor)
	s := &sender{ctx: ctx, sending: e.replicas.Sending}
	s.redial = func() (*dialled, error) { return e.dialTarget(ctx, to) }
	d, err := e.redial(ctx, to, redialEvery, func() bool { return time.Now().After(until) })
	switch {
	case err == nil:
		s.use(d)
	case ctx.Err() != nil, isLasting(err):
		return nil, err
	default:
		s.search = e.searchFor(ctx, to)
	}
	return s, nil
}

// dialTarget opens a connection for engine frames.
func (e *engineEnd) dialTarget(ctx context.Context, target Target) (*dialled, error) {
	to, err := e.resolve(target)
	if err != nil {
		return nil, err
	}
	return e.dial(ctx, to, purposeFrames)
}

// isLasting reports whether a further dial would fail the same way.
func isLasting(err error) bool {
	r, ok := errors.AsType[*Refused](err)
	return ok && r.Code.Lasting() || errors.Is(err, errHandshake)
}
