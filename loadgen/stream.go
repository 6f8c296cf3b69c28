package loadgen

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/valyala/bytebufferpool"

	"github.com/signalbox/signalbox/protocol"
)

// sink receives the host's messages for a watch. All calls come from the connection's reading goroutine; the
// arguments are valid until the call returns.
type sink interface {
	snapshot(page *protocol.WatchSnapshot)
	delta(change *protocol.WatchDelta)
}

// streams is a connection with many watches, without a Client. A Client's watches on one semaphore share the host's
// messages, but here the host has to send everything to every watcher.
type streams struct {
	conn    net.Conn
	limit   int // maximum frame length
	ended   func(error)
	closing atomic.Bool
	pushed  atomic.Int64  // complete snapshots, and deltas
	bytes   atomic.Int64  // in all frames for watches
	room    chan struct{} // a token for every requested but unanswered watch
	down    chan struct{} // closed when the reader has ended

	mu     sync.Mutex // guards the fields below; never held while waiting for a connection
	sinks  []sink     // by request id
	lastID uint64

	writing sync.Mutex // guards the fields below, and writing
	encoder *protocol.Encoder
	out     bytebufferpool.ByteBuffer
}

const (
	// unanswered is the maximum number of unanswered watches per connection.
	unanswered = 1024
	// pingEvery is the ping interval: hosts require a ping every ten seconds.
	pingEvery = 5 * time.Second
	// streamBuffer is the initial size of a connection's read buffer.
	streamBuffer = 4 << 10
)

// openStreams connects to a host. ended is called when the connection or one of its watches breaks.
func openStreams(ctx context.Context, config *Config, address string, ended func(error)) (*streams, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTime)
	defer cancel()
	conn, err := dial(ctx, config, address)
	if err != nil {
		return nil, err
	}
	s := &streams{
		conn: conn, ended: ended, encoder: protocol.NewEncoder(),
		limit: int(protocol.FrameLimits(protocol.MaxDataBytes).AnswerFrameBytes),
		room:  make(chan struct{}, unanswered), down: make(chan struct{}),
	}
	// Every wait in the handshake ends with the context.
	release := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	defer release()
	err = s.send(s.number(nil), &protocol.Hello{
		VersionMin: protocol.MinVersion, VersionMax: protocol.MaxVersion,
		ClientName: []byte("loadgen"), Token: []byte(config.Token),
	})
	frames := &frameReader{from: conn, limit: s.limit, buf: make([]byte, streamBuffer)}
	if err == nil {
		err = s.welcomed(frames)
	}
	if err != nil {
		_ = conn.Close() // given up
		return nil, fmt.Errorf("host %s: %w", address, err)
	}
	go s.read(frames)
	return s, nil
}

// dial connects to a host, with the config's dialer and TLS configuration if they are set.
func dial(ctx context.Context, config *Config, address string) (net.Conn, error) {
	var d net.Dialer
	open := func(ctx context.Context, address string) (net.Conn, error) { return d.DialContext(ctx, "tcp", address) }
	if config.Dialer != nil {
		open = config.Dialer
	}
	conn, err := open(ctx, address)
	if err != nil || config.TLS == nil {
		return conn, err
	}
	t := config.TLS.Clone()
	if t.ServerName == "" {
		t.ServerName, _, _ = net.SplitHostPort(address)
	}
	secured := tls.Client(conn, t)
	if err := secured.HandshakeContext(ctx); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return secured, nil
}

func (s *streams) welcomed(frames *frameReader) error {
	payload, err := frames.next()
	if err != nil {
		return err
	}
	a, err := protocol.NewAnswerDecoder().Decode(payload)
	if err != nil {
		return err
	}
	if a.Kind != protocol.KindHello.Answer() {
		return fmt.Errorf("it answered HELLO with %v", a.Kind)
	}
	return a.Result.Err()
}

// send writes a request.
func (s *streams) send(id uint64, m protocol.RequestMessage) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	s.out.Reset()
	s.encoder.Request(&s.out, id, m)
	_, err := s.conn.Write(s.out.B)
	return err
}

// watch opens a watch.
func (s *streams) watch(to sink, m *protocol.Watch) error {
	select {
	case s.room <- struct{}{}:
	case <-s.down:
		return errBroke
	}
	return s.send(s.number(to), m)
}

// number assigns an id to a request: messages with this id belong to the sink.
func (s *streams) number(to sink) uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lastID++
	if to != nil {
		s.sinks = append(s.sinks, make([]sink, s.lastID+1-uint64(len(s.sinks)))...)
		s.sinks[s.lastID] = to
	}
	return s.lastID
}

// ping keeps the connection.
func (s *streams) ping() error { return s.send(s.number(nil), &protocol.Ping{}) }

func (s *streams) sink(id uint64) sink {
	s.mu.Lock()
	defer s.mu.Unlock()
	if id >= uint64(len(s.sinks)) {
		return nil
	}
	return s.sinks[id]
}

// read passes on the host's messages until the connection ends.
func (s *streams) read(frames *frameReader) {
	defer close(s.down)
	decoder := protocol.NewAnswerDecoder()
	for {
		payload, err := frames.next()
		if err == nil {
			err = s.handle(decoder, payload)
		}
		if err != nil {
			if !s.closing.Load() {
				s.ended(fmt.Errorf("%w: %w", errBroke, err))
			}
			return
		}
	}
}

// handle passes a frame to its watch's sink. The end of a watch or host is an error, because the run would miss views
// from then on.
func (s *streams) handle(decoder *protocol.AnswerDecoder, payload []byte) error {
	a, err := decoder.Decode(payload)
	if err != nil {
		if bad, ok := errors.AsType[*protocol.DecodeError](err); ok && bad.UnknownKind {
			return nil // from a later protocol version
		}
		return err
	}
	switch a.Kind {
	case protocol.KindWatch.Answer():
		<-s.room
		return a.Result.Err()
	case protocol.KindWatchSnapshot, protocol.KindWatchDelta:
	case protocol.KindWatchEnd:
		return errors.Join(errors.New("the host ended a watch"), a.WatchEnd.Result.Err())
	case protocol.KindGoingAway:
		return errors.Join(errors.New("the host goes away"), a.GoingAway.Result.Err())
	default:
		return nil
	}
	to := s.sink(a.ID)
	if to == nil {
		return fmt.Errorf("%v for the watch %d, which was not opened", a.Kind, a.ID)
	}
	s.bytes.Add(int64(protocol.FrameHeaderBytes + len(payload)))
	if a.Kind == protocol.KindWatchDelta {
		s.pushed.Add(1)
		to.delta(&a.WatchDelta)
		return nil
	}
	if a.WatchSnapshot.Last {
		s.pushed.Add(1)
	}
	to.snapshot(&a.WatchSnapshot)
	return nil
}

func (s *streams) close() {
	s.closing.Store(true)
	_ = s.conn.Close() // no longer needed
	<-s.down
}

// frameReader splits a connection's bytes into frames.
type frameReader struct {
	from       io.Reader
	limit      int
	buf        []byte
	start, end int // bytes read but not yet returned
}

// next returns the next frame's payload, which is valid until the next call.
func (f *frameReader) next() ([]byte, error) {
	for {
		payload, size, err := protocol.ScanFrame(f.buf[f.start:f.end], f.limit)
		if err != nil {
			return nil, err
		}
		if payload != nil {
			f.start += size
			return payload, nil
		}
		if size > len(f.buf)-f.start {
			rest := f.buf[f.start:f.end]
			if size > len(f.buf) {
				f.buf = make([]byte, 2*size)
			}
			f.start, f.end = 0, copy(f.buf, rest)
		}
		n, err := f.from.Read(f.buf[f.end:])
		f.end += n
		if n == 0 && err != nil {
			return nil, err
		}
	}
}
