package transport

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lni/dragonboat/v4/config"
	"github.com/lni/dragonboat/v4/raftpb"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/hosts"
)

const (
	testShard = 7
	// patience is the time limit on a slow machine for fast operations.
	patience = 60 * time.Second
)

// eventually waits until a condition holds.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for late := time.Now().Add(patience); !condition(); time.Sleep(time.Millisecond) {
		if time.Now().After(late) {
			t.Fatal("no ", what)
		}
	}
}

// endpoint is host 1's transport, with a test in place of its engine.
type endpoint struct {
	*engineEnd
	peer    *engineEnd // host 2, which only dials
	address string
	batches chan raftpb.MessageBatch
	chunks  chan raftpb.Chunk
	refused [Refusals]atomic.Int64
	log     *logBuffer
}

// logBuffer is the logged text.
type logBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer // guarded by mu
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

const testDeployment = 42

// noAddress is host 2's address, without a listener.
const noAddress = "b.example:1"

var (
	one = Target{Host: 1, Incarnation: hosts.Incarnation{1}}
	two = Target{Host: 2, Incarnation: hosts.Incarnation{2}}
)

func identityOf(t Target) Identity {
	return Identity{Host: t.Host, Incarnation: t.Incarnation, Deployment: testDeployment,
		Start: hosts.Start{Number: 5, Draw: 55}}
}

// testReplicas are a host's replicas, with a running test shard.
type testReplicas struct {
	route *Route
	takes func(shardID, snapshot uint64) bool // nil: all
	sent  atomic.Int64                        // chunks
	// has is the replica's last entry.
	has  atomic.Uint64
	died atomic.Int64 // count of the other host's deaths
	// positions are the host's own reported positions, confirmed the other host's confirmed positions.
	positions, confirmed []Position
}

func (r *testReplicas) Route(shardID uint64) *Route {
	if shardID != testShard {
		return nil
	}
	return r.route
}

func (r *testReplicas) Takes(shardID, snapshot uint64) bool {
	return r.takes == nil || r.takes(shardID, snapshot)
}

func (r *testReplicas) Has(_, index uint64) bool { return index <= r.has.Load() }

func (r *testReplicas) Positions() []Position { return r.positions }

func (r *testReplicas) Behind(shard.HostID) func([]Position) error {
	return func(list []Position) error {
		for i, c := range r.confirmed {
			if i >= len(list) || list[i].Behind(c) {
				return fmt.Errorf("it says %v", list)
			}
		}
		return nil
	}
}

func (*testReplicas) Received(shard.HostID, []raftpb.Message) {}
func (*testReplicas) Sending([]raftpb.Message)                {}
func (*testReplicas) Term(uint64) uint64                      { return 1 } // unlike the messages of Died
func (r *testReplicas) Sent(shard.HostID, *raftpb.Chunk)      { r.sent.Add(1) }

// Died returns two messages, the second for a leader with a successor.
func (r *testReplicas) Died(shard.HostID) []Stand {
	n := uint64(r.died.Add(1))
	stand := func(hint uint64, still bool) Stand {
		return Stand{Message: func() (raftpb.Message, bool) {
			return raftpb.Message{Type: raftpb.TimeoutNow, Hint: hint}, still
		}}
	}
	return []Stand{stand(n, true), stand(n+1000, false)}
}

// routeOf returns a replica's route to a shard's initial members, and to joined ones.
func routeOf(replica uint64, joined map[uint64]Target) *Route {
	r := &Route{Replica: replica, Members: map[uint64]Target{1: one, 2: two}}
	maps.Copy(r.Members, joined)
	return r
}

// newDialer returns host 2's transport, otherwise configured like host 1's.
func newDialer(t *testing.T, of *endpoint, changes ...func(*Config)) *engineEnd {
	c := of.config
	c.Identity, c.Listener, c.Refused, c.TurnedAway, c.Dial = identityOf(two), nil, nil, nil, nil
	c.Hosts = []Host{{ID: 1, Name: "one", Incarnation: one.Incarnation, Address: of.address}}
	for _, change := range changes {
		change(&c)
	}
	peers := Open(c)
	t.Cleanup(func() { peers.Close() })
	f := Factory{Transport: peers, Replicas: &testReplicas{route: routeOf(2, nil)}}
	return f.Create(config.NodeHostConfig{}, nil, nil).(*engineEnd)
}

// connect connects to an endpoint as host 2.
func (e *endpoint) connect(t *testing.T) *sender {
	t.Helper()
	return e.connectFrom(t, e.peer)
}

func (e *endpoint) connectFrom(t *testing.T, dialer *engineEnd) *sender {
	t.Helper()
	conn, err := dialer.GetConnection(context.Background(), one.String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	return conn.(*sender)
}

// connectForSnapshot does, too.
func (e *endpoint) connectForSnapshot(t *testing.T) *snapshotSender {
	t.Helper()
	return e.connectForSnapshotUntil(t, context.Background())
}

func (e *endpoint) connectForSnapshotUntil(t *testing.T, ctx context.Context) *snapshotSender {
	t.Helper()
	conn, err := e.peer.GetSnapshotConnection(ctx, one.String())
	if err != nil {
		t.Fatal(err)
	}
	s := conn.(*snapshotSender)
	t.Cleanup(s.Close)
	return s
}

func newEndpoint(t *testing.T, changes ...func(*Config)) *endpoint {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	e := &endpoint{
		address: listener.Addr().String(), log: new(logBuffer),
		batches: make(chan raftpb.MessageBatch, 10), chunks: make(chan raftpb.Chunk, 10),
	}
	c := Config{
		Identity: identityOf(one), Logger: slog.New(slog.NewTextHandler(e.log, nil)), Listener: listener,
		Hosts: []Host{{ID: 2, Name: "two", Incarnation: two.Incarnation, Address: noAddress}},
	}
	c.Refused = func(r Refusal) { e.refused[r].Add(1) }
	c.Dial = func(ctx context.Context, address string) (net.Conn, error) {
		if address == noAddress {
			return nil, errors.New("no test goes outside")
		}
		return dialTCP(ctx, address)
	}
	for _, change := range changes {
		change(&c)
	}
	f := Factory{Transport: Open(c), Replicas: &testReplicas{route: routeOf(1, nil)}}
	t.Cleanup(func() { f.Transport.Close() })
	e.engineEnd = f.Create(config.NodeHostConfig{},
		func(b raftpb.MessageBatch) { e.batches <- b },
		func(c raftpb.Chunk) bool { e.chunks <- c; return c.ChunkId < 5 }).(*engineEnd)
	if err := e.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	e.peer = newDialer(t, e)
	return e
}

// of returns the replicas on the endpoint's host.
func (e *endpoint) of() *testReplicas { return e.replicas.(*testReplicas) }

func goodBatch(data string) raftpb.MessageBatch {
	return raftpb.MessageBatch{
		DeploymentId: testDeployment, SourceAddress: two.String(),
		Requests: []raftpb.Message{{
			Type: raftpb.Replicate, From: 2, To: 1, ShardID: testShard,
			Entries: []raftpb.Entry{{Type: raftpb.EncodedEntry, Index: 3, Cmd: []byte(data)}},
		}},
	}
}

// awaitEnd reads until the other end closes the connection.
func awaitEnd(t *testing.T, conn net.Conn) {
	t.Helper()
	conn.SetReadDeadline(time.Now().Add(patience))
	if _, err := io.Copy(io.Discard, conn); os.IsTimeout(err) {
		t.Error("the connection was not ended")
	}
}

func TestMessagesArriveWholeAndInOrder(t *testing.T) {
	e := newEndpoint(t)
	conn := e.connect(t)
	large := string(bytes.Repeat([]byte("0123456789"), 1<<19)) // 5 MiB: grown in steps, and not kept
	for _, data := range []string{"first", large, "", large, "last"} {
		if err := conn.SendMessageBatch(goodBatch(data)); err != nil {
			t.Fatal(err)
		}
		got := <-e.batches
		if len(got.Requests) != 1 || string(got.Requests[0].Entries[0].Cmd) != data {
			t.Fatalf("a message of %d bytes arrived changed", len(data))
		}
	}
}

func TestChunksArriveUntilOneIsRefused(t *testing.T) {
	e := newEndpoint(t)
	conn := e.connectForSnapshot(t)
	data := bytes.Repeat([]byte{7}, 2<<20)
	for id := range uint64(6) {
		if err := conn.SendChunk(raftpb.Chunk{ShardID: testShard, From: 2, ReplicaID: 1, Filepath: "snapshot", Index: 1,
			ChunkId: id, Data: data}); (err == nil) != (id < 5) {
			t.Fatalf("chunk %d: %v", id, err)
		}
		if got := <-e.chunks; got.ChunkId != id || !bytes.Equal(got.Data, data) {
			t.Fatalf("chunk %d arrived changed", id)
		}
	}
	awaitEnd(t, conn.conn)
}

func TestHostsWithAnotherConfigAreKeptFromTheEngine(t *testing.T) {
	for name, change := range map[string]func(*raftpb.MessageBatch){
		"another deployment": func(b *raftpb.MessageBatch) { b.DeploymentId = 43 },
		"another target":     func(b *raftpb.MessageBatch) { b.SourceAddress = one.String() },
		"no target":          func(b *raftpb.MessageBatch) { b.SourceAddress = "" },
		"unknown host":       func(b *raftpb.MessageBatch) { b.Requests[0].From = 9 },
		"our own replica":    func(b *raftpb.MessageBatch) { b.Requests[0].From = 1 },
		"no replica":         func(b *raftpb.MessageBatch) { b.Requests[0].From = 0 },
		"another's replica":  func(b *raftpb.MessageBatch) { b.Requests[0].From = 1030 },
	} {
		t.Run(name, func(t *testing.T) {
			e := newEndpoint(t)
			e.of().route = routeOf(1, map[uint64]Target{1030: {Host: 3, Incarnation: hosts.Incarnation{3}}})
			conn := e.connect(t)
			batch := goodBatch("x")
			change(&batch)
			if err := conn.SendMessageBatch(batch); err != nil {
				t.Fatal(err)
			}
			awaitEnd(t, conn.conn)
			e.Close()
			if len(e.batches) != 0 {
				t.Error("the engine was given the batch")
			}
			if got := e.refused[RefusedSender].Load(); got != 1 {
				t.Errorf("%d refusals were counted", got)
			}
			if e.log.String() == "" {
				t.Error("nothing was logged")
			}
		})
	}
}

func TestGarbageEndsItsConnectionOnly(t *testing.T) {
	e := newEndpoint(t)
	good := e.connect(t)
	sealed := func(kind byte, payload string) []byte {
		frame := append(make([]byte, frameHeaderSize), payload...)
		sealFrame(frame, kind)
		return frame
	}
	flipped := sealed(frameMessages, "payload")
	flipped[len(flipped)-1] ^= 1
	for name, sent := range map[string][]byte{
		"text":                   []byte("GET / HTTP/1.1\r\nHost: example\r\n\r\n"),
		"zeroes":                 make([]byte, 100),
		"unknown kind":           sealed(9, "x"),
		"huge length":            append([]byte{'S', 'B', 'X', 1, 0xff, 0xff, 0xff, 0xff}, make([]byte, 4)...),
		"wrong checksum":         flipped,
		"no message batch":       sealed(frameMessages, "\xff\xff\xff\xff"),
		"no chunk":               sealed(frameChunk, "\xff\xff\xff\xff"),
		"batch without messages": sealed(frameMessages, ""),
	} {
		t.Run(name, func(t *testing.T) {
			conn := e.connect(t).conn
			if _, err := conn.Write(sent); err != nil {
				t.Fatal(err)
			}
			awaitEnd(t, conn)
		})
	}
	if err := good.SendMessageBatch(goodBatch("still there")); err != nil {
		t.Fatal(err)
	}
	<-e.batches
}

func TestTooManyConnectionsThatSayNothingAreTurnedAway(t *testing.T) {
	e := newEndpoint(t)
	dial := func() net.Conn {
		conn, err := net.Dial("tcp", e.address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		return conn
	}
	open := func() int {
		e.mu.Lock()
		defer e.mu.Unlock()
		return len(e.accepted)
	}
	e.connect(t) // the connection does not count
	first := dial()
	for range maxGreeting - 1 {
		dial()
	}
	eventually(t, "all connections", func() bool { return open() == 1+maxGreeting })
	awaitEnd(t, dial())
	first.Close()
	eventually(t, "room", func() bool { return open() < 1+maxGreeting })
}

// memoryConn is an in-memory connection's reading end.
type memoryConn struct{ io.Reader }

func (memoryConn) SetReadDeadline(time.Time) error { return nil }

func TestAnnouncedBytesAreNotAllocatedBeforeTheyArrive(t *testing.T) {
	frame := make([]byte, frameHeaderSize+100)
	sealFrame(frame, frameMessages)
	frame[4], frame[5] = 0x08, 0 // 128 MiB
	const runs = 10
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range runs {
		r := newFrameReader(memoryConn{bytes.NewReader(frame)}, nil, framesOfEngine)
		if _, _, err := r.next(); err != io.ErrUnexpectedEOF {
			t.Fatal(err)
		}
	}
	runtime.ReadMemStats(&after)
	allocated := (after.TotalAlloc - before.TotalAlloc) / runs
	if allocated > 3*frameReadStep {
		t.Errorf("%d bytes were allocated for a frame of which 100 have arrived", allocated)
	}
}

func FuzzFrames(f *testing.F) {
	batch := goodBatch("seed")
	frame := make([]byte, frameHeaderSize+batch.SizeUpperLimit())
	n, err := batch.MarshalTo(frame[frameHeaderSize:])
	if err != nil {
		f.Fatal(err)
	}
	frame = frame[:frameHeaderSize+n]
	sealFrame(frame, frameMessages)
	f.Add(frame)
	f.Add(append(frame[:len(frame):len(frame)], frame...))
	f.Add(frame[:len(frame)-1])
	f.Add([]byte("SBX\x02\x00\x00\x00\x00\x00\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, sent []byte) {
		r := newFrameReader(memoryConn{bytes.NewReader(sent)}, nil, framesOfEngine)
		taken := 0
		for {
			kind, payload, err := r.next()
			if err != nil {
				return
			}
			// The accepted data is the sent data.
			again := append(make([]byte, frameHeaderSize), payload...)
			sealFrame(again, kind)
			if !bytes.Equal(again, sent[taken:taken+len(again)]) {
				t.Fatal("a frame was taken for another")
			}
			taken += len(again)
		}
	})
}
