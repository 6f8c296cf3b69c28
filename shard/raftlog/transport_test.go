package raftlog

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"log/slog"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lni/dragonboat/v4/config"
	"github.com/lni/dragonboat/v4/raftio"
	"github.com/lni/dragonboat/v4/raftpb"
	"github.com/signalbox/signalbox/shard"
)

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
func newDialer(of *Config, configs *tlsConfigs, changes ...func(*Config)) *transport {
	c := *of
	c.Host = 2
	for _, change := range changes {
		change(&c)
	}
	f := transportFactory{config: &c, tls: configs, followers: newFollowers()}
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

func newEndpoint(t *testing.T, configs *tlsConfigs, changes ...func(*Config)) *endpoint {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	e := &endpoint{
		address: listener.Addr().String(), log: new(bytes.Buffer),
		batches: make(chan raftpb.MessageBatch, 10), chunks: make(chan raftpb.Chunk, 10),
	}
	f := transportFactory{
		config: &Config{Host: 1, Deployment: 42, Members: testMembers,
			Logger: slog.New(slog.NewTextHandler(e.log, nil))},
		listener: listener, tls: configs, followers: newFollowers(),
		runs: func(shardID uint64) bool { return shardID == testShard },
	}
	for _, change := range changes {
		change(f.config)
	}
	f.config.Refused = func(r Refusal) { e.refused[r].Add(1) }
	e.transport = f.Create(config.NodeHostConfig{},
		func(b raftpb.MessageBatch) { e.batches <- b },
		func(c raftpb.Chunk) bool { e.chunks <- c; return c.ChunkId < 5 }).(*transport)
	e.peer = newDialer(f.config, configs)
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
	e := newEndpoint(t, nil)
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
	e := newEndpoint(t, nil)
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
			e := newEndpoint(t, nil)
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
	e := newEndpoint(t, nil)
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
	e := newEndpoint(t, nil)
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

// certificates writes a CA's certificate, and one that it signed, to files.
func certificates(t *testing.T) *TLS {
	t.Helper()
	dir := t.TempDir()
	write := func(name, kind string, der []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	make := func(serial int64, ca bool, parent *x509.Certificate, signer *ecdsa.PrivateKey) ([]byte,
		*ecdsa.PrivateKey) {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		template := &x509.Certificate{
			SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: "test"},
			NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
			IsCA: ca, BasicConstraintsValid: true, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
			KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
			ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		}
		if parent == nil {
			parent, signer = template, key
		}
		der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
		if err != nil {
			t.Fatal(err)
		}
		return der, key
	}
	caDER, caKey := make(1, true, nil, nil)
	ca, err := x509.ParseCertificate(caDER)
	if err != nil {
		t.Fatal(err)
	}
	der, key := make(2, false, ca, caKey)
	keyDER, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return &TLS{
		CAFile:   write("ca.pem", "CERTIFICATE", caDER),
		CertFile: write("cert.pem", "CERTIFICATE", der),
		KeyFile:  write("key.pem", "EC PRIVATE KEY", keyDER),
	}
}

func TestHostsWorkOverMutualTLS(t *testing.T) {
	files := certificates(t)
	all, leader := openThree(t, func(c *Config) { c.TLS = files })
	want := leader.mustPropose(0, 10)
	for _, m := range all {
		m.machine.awaitBatches(t, want)
	}
	text, err := os.ReadFile(files.CertFile)
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode(text)
	shown, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	if got := leader.host.CertificateExpires(); !got.Equal(shown.NotAfter) {
		t.Errorf("the host says that its certificate ends at %v, and it ends at %v", got, shown.NotAfter)
	}
}

func TestHostsWorkOverIPv6(t *testing.T) {
	listener, err := net.Listen("tcp", "[::1]:0")
	if err != nil {
		t.Skip(err)
	}
	address := listener.Addr().String()
	listener.Close()
	all := newCluster(t, 3, nil)
	for _, m := range all {
		m.config.Members[2] = address // they share the map
	}
	openAll(all)
	want := leaderOf(t, all).mustPropose(0, 3)
	for _, m := range all {
		m.machine.awaitBatches(t, want)
	}
}

func TestStrangersAreTurnedAwayByTLS(t *testing.T) {
	configs, err := certificates(t).load()
	if err != nil {
		t.Fatal(err)
	}
	others, err := certificates(t).load()
	if err != nil {
		t.Fatal(err)
	}
	e := newEndpoint(t, configs)
	silent, err := net.Dial("tcp", e.address) // it must not keep other hosts out
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	for name, dial := range map[string]func() (net.Conn, error){
		"no TLS": func() (net.Conn, error) { return net.Dial("tcp", e.address) },
		"no certificate": func() (net.Conn, error) {
			return tls.Dial("tcp", e.address, &tls.Config{RootCAs: configs.client.RootCAs})
		},
		"another CA's certificate": func() (net.Conn, error) {
			return tls.Dial("tcp", e.address, &tls.Config{RootCAs: configs.client.RootCAs,
				Certificates: others.client.Certificates})
		},
	} {
		t.Run(name, func(t *testing.T) {
			conn, err := dial()
			if err != nil {
				return // turned away at once
			}
			defer conn.Close()
			s := &sender{conn: conn}
			s.SendMessageBatch(goodBatch("x"))
			awaitEnd(t, conn)
		})
	}
	good, err := e.GetConnection(context.Background(), e.address)
	if err != nil {
		t.Fatal(err)
	}
	defer good.Close()
	if err := good.SendMessageBatch(goodBatch("known")); err != nil {
		t.Fatal(err)
	}
	if got := <-e.batches; string(got.Requests[0].Entries[0].Cmd) != "known" || len(e.batches) != 0 {
		t.Errorf("the engine was given %v", got)
	}
	if conn, err := newEndpoint(t, others).GetConnection(context.Background(), e.address); err == nil {
		conn.Close()
		t.Error("a host took one whose certificate its CA did not sign for another host")
	}
}

func TestTLSFilesThatDoNotFitAreNamed(t *testing.T) {
	good := certificates(t)
	one := newCluster(t, 1, nil)[0]
	for name, files := range map[string]*TLS{
		"no file":            {CAFile: good.CAFile, CertFile: "/nowhere/cert.pem", KeyFile: good.KeyFile},
		"no CA file":         {CAFile: "/nowhere/ca.pem", CertFile: good.CertFile, KeyFile: good.KeyFile},
		"CA file without CA": {CAFile: good.KeyFile, CertFile: good.CertFile, KeyFile: good.KeyFile},
		"key of another":     {CAFile: good.CAFile, CertFile: good.CertFile, KeyFile: certificates(t).KeyFile},
	} {
		t.Run(name, func(t *testing.T) {
			config := one.config
			config.TLS = files
			if host, err := Open(config); err == nil {
				host.Close()
				t.Error("opened")
			}
		})
	}
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
