package simulation_test

import (
	"context"
	"net"

	"github.com/valyala/bytebufferpool"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/test/simulation"
)

// interceptedConn is a client connection with an interceptor for every message.
type interceptedConn struct {
	net.Conn
	interceptor *interceptor

	in, out, ready []byte // incomplete frames, and readable bytes
	answers        *protocol.AnswerDecoder
	requests       *protocol.RequestDecoder
	// arrived receives data from the host, injected data from the interceptor to the client.
	arrived, injected chan []byte
	done              context.Context
	end               context.CancelFunc
	failed            error // read error, set when arrived is closed
}

// interceptor decides about messages. Its functions return the replacement frame.
type interceptor struct {
	answer  func(a *protocol.Answer, frame []byte) []byte
	request func(r *protocol.Request, frame []byte) (on, back []byte)
}

const frameLimit = 8 << 20

// withInterceptor plants an interceptor into every connection.
func withInterceptor(make func() *interceptor) *simulation.Bug {
	return &simulation.Bug{Dial: func(dial client.DialFunc) client.DialFunc {
		return func(ctx context.Context, address string) (net.Conn, error) {
			c, err := dial(ctx, address)
			if err != nil {
				return nil, err
			}
			return newInterceptedConn(c, make()), nil
		}
	}}
}

func newInterceptedConn(c net.Conn, m *interceptor) net.Conn {
	x := &interceptedConn{
		Conn: c, interceptor: m, answers: protocol.NewAnswerDecoder(),
		requests: protocol.NewRequestDecoder(protocol.MaxDataBytes),
		arrived:  make(chan []byte), injected: make(chan []byte, 1024),
	}
	x.done, x.end = context.WithCancel(context.Background())
	go x.pump()
	return x
}

// pump reads from the host until the connection ends.
func (i *interceptedConn) pump() {
	defer close(i.arrived)
	for {
		chunk := make([]byte, 64<<10)
		n, err := i.Conn.Read(chunk)
		if n == 0 && err != nil {
			i.failed = err
			return
		}
		select {
		case i.arrived <- chunk[:n]:
		case <-i.done.Done():
			i.failed = net.ErrClosed
			return
		}
	}
}

func (i *interceptedConn) Close() error {
	i.end()
	return i.Conn.Close()
}

func (i *interceptedConn) Read(b []byte) (int, error) {
	for len(i.ready) == 0 {
		select {
		case frame := <-i.injected:
			i.ready = append(i.ready, frame...)
			continue
		case chunk, ok := <-i.arrived:
			if !ok {
				return 0, i.failed
			}
			i.in = append(i.in, chunk...)
		}
		i.in = frames(i.in, func(frame, payload []byte) {
			a, err := i.answers.Decode(payload)
			if err != nil || i.interceptor.answer == nil {
				i.ready = append(i.ready, frame...)
				return
			}
			i.ready = append(i.ready, i.interceptor.answer(a, frame)...)
		})
	}
	n := copy(b, i.ready)
	i.ready = i.ready[n:]
	return n, nil
}

func (i *interceptedConn) Write(b []byte) (int, error) {
	if i.interceptor.request == nil {
		return i.Conn.Write(b)
	}
	i.out = append(i.out, b...)
	var on []byte
	i.out = frames(i.out, func(frame, payload []byte) {
		r, err := i.requests.Decode(payload)
		if err != nil {
			on = append(on, frame...)
			return
		}
		pass, back := i.interceptor.request(r, frame)
		on = append(on, pass...)
		if back != nil {
			i.injected <- back
		}
	})
	if len(on) > 0 {
		if _, err := i.Conn.Write(on); err != nil {
			return 0, err
		}
	}
	return len(b), nil
}

// frames calls f for every whole frame, and returns the rest.
func frames(b []byte, f func(frame, payload []byte)) []byte {
	for {
		payload, size, err := protocol.ScanFrame(b, frameLimit)
		if err != nil {
			panic(err)
		}
		if payload == nil {
			return b
		}
		f(append([]byte(nil), b[:size]...), payload)
		b = b[size:]
	}
}

// dropping loses every one-th push of a kind.
func dropping(kind protocol.Kind, one int) *simulation.Bug {
	return withInterceptor(func() *interceptor {
		count := 0
		return &interceptor{answer: func(a *protocol.Answer, frame []byte) []byte {
			if a.Kind == kind {
				if count++; count%one == 0 {
					return nil
				}
			}
			return frame
		}}
	})
}

// latePong: a ping is answered at once, with the previous ping's answer. So a lease counts from a later time than the
// host confirmed.
func latePong() *simulation.Bug {
	return withInterceptor(func() *interceptor {
		encoder, reserve := protocol.NewEncoder(), make(chan struct{}, 1)
		return &interceptor{
			request: func(r *protocol.Request, frame []byte) (on, back []byte) {
				if r.Kind != protocol.KindPing {
					return frame, nil
				}
				select {
				case <-reserve:
					var buf bytebufferpool.ByteBuffer
					encoder.Answer(&buf, r.ID, &protocol.Pong{})
					return encodeRequest(encoder, mine+r.ID, &protocol.Ping{}), buf.B
				default:
					return frame, nil
				}
			},
			answer: func(a *protocol.Answer, frame []byte) []byte {
				if a.Kind == protocol.KindPing.Answer() && a.Result.Status == protocol.StatusSuccess {
					select {
					case reserve <- struct{}{}:
					default:
					}
					if a.ID >= mine {
						return nil
					}
				}
				return frame
			},
		}
	})
}

// mine is the first request id used by the interceptor.
const mine = 1 << 40

// unprovenPong: a host answers pings without proof of leadership.
func unprovenPong() *simulation.Bug {
	return withInterceptor(func() *interceptor {
		encoder := protocol.NewEncoder()
		return &interceptor{
			request: func(r *protocol.Request, frame []byte) (on, back []byte) {
				if r.Kind != protocol.KindPing {
					return frame, nil
				}
				// Any host answer will do, such as routing.
				return encodeRequest(encoder, mine+r.ID, &protocol.Routing{}), nil
			},
			answer: func(a *protocol.Answer, frame []byte) []byte {
				if a.ID < mine {
					return frame
				}
				var buf bytebufferpool.ByteBuffer
				protocol.NewEncoder().Answer(&buf, a.ID-mine, &protocol.Pong{})
				return buf.B
			},
		}
	})
}

// releaseSwallowed: a release is answered, and not carried out.
func releaseSwallowed() *simulation.Bug {
	return withInterceptor(func() *interceptor {
		encoder, count := protocol.NewEncoder(), 0
		return &interceptor{request: func(r *protocol.Request, frame []byte) (on, back []byte) {
			if r.Kind != protocol.KindRelease {
				return frame, nil
			}
			if count++; count%10 != 0 {
				return frame, nil
			}
			var buf bytebufferpool.ByteBuffer
			encoder.Answer(&buf, r.ID, &protocol.ReleaseAnswer{Released: true})
			return encodeRequest(encoder, mine+r.ID, &protocol.Ping{}), buf.B
		}}
	})
}

// relaxedForStrict: STRICT reads are answered like RELAXED ones.
func relaxedForStrict() *simulation.Bug {
	return withInterceptor(func() *interceptor {
		encoder := protocol.NewEncoder()
		return &interceptor{request: func(r *protocol.Request, frame []byte) (on, back []byte) {
			if r.Kind != protocol.KindSemaphoreDescribe {
				return frame, nil
			}
			m := r.SemaphoreDescribe
			m.Consistency = protocol.ConsistencyRelaxed
			return encodeRequest(encoder, r.ID, &m), nil
		}}
	})
}

func encodeRequest(e *protocol.Encoder, id uint64, m protocol.RequestMessage) []byte {
	var buf bytebufferpool.ByteBuffer
	e.Request(&buf, id, m)
	return buf.B
}
