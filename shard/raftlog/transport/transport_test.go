package transport

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net"
	"os"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lni/dragonboat/v4/config"
	"github.com/lni/dragonboat/v4/raftio"
	"github.com/lni/dragonboat/v4/raftpb"
	"github.com/signalbox/signalbox/shard"
)

const (
	testShard = 7
	// patience is for what a slow machine does in a moment.
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

// endpoint is a transport without an engine, of host 1.
type endpoint struct {
	*transport
	peer    *transport // of host 2, which only dials
	address string
	batches chan raftpb.MessageBatch
	chunks  chan raftpb.Chunk
	refused [Refusals]atomic.Int64
	log     *bytes.Buffer // safe to read once the transport is closed
}

var testMembers = map[shard.HostID]string{1: "a.example:1", 2: "b.example:1"}

// newDialer returns the transport of host 2, with what else host 1 has.
func newDialer(of *Config, changes ...func(*Config)) *transport {
	c := *of
	c.Host = 2
	for _, change := range changes {
		change(&c)
	}
	f := Factory{c}
	return f.Create(config.NodeHostConfig{}, nil, nil).(*transport)
}

// GetConnection connects to an endpoint as host 2.
func (e *endpoint) GetConnection(ctx context.Context, target string) (raftio.IConnection, error) {
	return e.peer.GetConnection(ctx, target)
}

// GetSnapshotConnection does, too.
func (e *endpoint) GetSnapshotConnection(ctx context.Context, target string) (raftio.ISnapshotConnection, error) {
	return e.peer.GetSnapshotConnection(ctx, target)
}

func newEndpoint(t *testing.T, changes ...func(*Config)) *endpoint {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	e := &endpoint{
		address: listener.Addr().String(), log: new(bytes.Buffer),
		batches: make(chan raftpb.MessageBatch, 10), chunks: make(chan raftpb.Chunk, 10),
	}
	f := Factory{Config{
		Host: 1, Deployment: 42, Members: testMembers, Logger: slog.New(slog.NewTextHandler(e.log, nil)),
		Listener: listener, Runs: func(shardID uint64) bool { return shardID == testShard },
	}}
	for _, change := range changes {
		change(&f.Config)
	}
	f.Refused = func(r Refusal) { e.refused[r].Add(1) }
	e.transport = f.Create(config.NodeHostConfig{},
		func(b raftpb.MessageBatch) { e.batches <- b },
		func(c raftpb.Chunk) bool { e.chunks <- c; return c.ChunkId < 5 }).(*transport)
	e.peer = newDialer(&f.Config)
	if err := e.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e
}

func goodBatch(data string) raftpb.MessageBatch {
	return raftpb.MessageBatch{
		DeploymentId: 42, SourceAddress: "b.example:1",
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
	conn, err := e.GetConnection(context.Background(), e.address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
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
	conn, err := e.GetSnapshotConnection(context.Background(), e.address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	data := bytes.Repeat([]byte{7}, 2<<20)
	for id := range uint64(6) {
		if err := conn.SendChunk(raftpb.Chunk{ShardID: testShard, From: 2, ReplicaID: 1, Filepath: "snapshot",
			ChunkId: id, Data: data}); err != nil {
			t.Fatal(err)
		}
		if got := <-e.chunks; got.ChunkId != id || !bytes.Equal(got.Data, data) {
			t.Fatalf("chunk %d arrived changed", id)
		}
	}
	awaitEnd(t, conn.(*sender).conn)
}

func TestHostsWithAnotherConfigAreKeptFromTheEngine(t *testing.T) {
	for name, change := range map[string]func(*raftpb.MessageBatch){
		"another deployment": func(b *raftpb.MessageBatch) { b.DeploymentId = 43 },
		"another address":    func(b *raftpb.MessageBatch) { b.SourceAddress = "c.example:1" },
		"no address":         func(b *raftpb.MessageBatch) { b.SourceAddress = "" },
		"unknown host":       func(b *raftpb.MessageBatch) { b.Requests[0].From = 9 },
		"our own id":         func(b *raftpb.MessageBatch) { b.Requests[0].From = 1 },
	} {
		t.Run(name, func(t *testing.T) {
			e := newEndpoint(t)
			conn, err := e.GetConnection(context.Background(), e.address)
			if err != nil {
				t.Fatal(err)
			}
			batch := goodBatch("x")
			change(&batch)
			if err := conn.SendMessageBatch(batch); err != nil {
				t.Fatal(err)
			}
			awaitEnd(t, conn.(*sender).conn)
			e.Close()
			if len(e.batches) != 0 {
				t.Error("the engine was given the batch")
			}
			if got := e.refused[RefusedSender].Load(); got != 1 {
				t.Errorf("%d refusals were counted", got)
			}
			if e.log.Len() == 0 {
				t.Error("nothing was logged")
			}
		})
	}
}

func TestGarbageEndsItsConnectionOnly(t *testing.T) {
	e := newEndpoint(t)
	good, err := e.GetConnection(context.Background(), e.address)
	if err != nil {
		t.Fatal(err)
	}
	defer good.Close()
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
			raw, err := e.GetConnection(context.Background(), e.address)
			if err != nil {
				t.Fatal(err)
			}
			conn := raw.(*sender).conn
			defer conn.Close()
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

func TestTooManyConnectionsAreTurnedAway(t *testing.T) {
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
	first := dial()
	for range maxConnections - 1 {
		dial()
	}
	eventually(t, "all connections", func() bool { return open() == maxConnections })
	awaitEnd(t, dial())
	first.Close()
	eventually(t, "room", func() bool { return open() < maxConnections })
}

// memoryConn is the reading end of a connection that is all in memory.
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
		r := newFrameReader(memoryConn{bytes.NewReader(frame)}, nil)
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
		r := newFrameReader(memoryConn{bytes.NewReader(sent)}, nil)
		taken := 0
		for {
			kind, payload, err := r.next()
			if err != nil {
				return
			}
			// What is taken is what was sent.
			again := append(make([]byte, frameHeaderSize), payload...)
			sealFrame(again, kind)
			if !bytes.Equal(again, sent[taken:taken+len(again)]) {
				t.Fatal("a frame was taken for another")
			}
			taken += len(again)
		}
	})
}
