package http

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/servertest"
	"github.com/signalbox/signalbox/shard"
)

// doors are gateways in front of one cluster. Time moves only while all wait.
type doors struct {
	t       *testing.T
	cluster *servertest.Cluster
	watcher *client.Client // beside the gateways
}

// gatewayDoor is one gateway with its connections to hosts.
type gatewayDoor struct {
	*Gateway
	t *testing.T

	mu    sync.Mutex
	lines []*line
	asked map[protocol.Kind]int // since the latest counting
	slow  map[string]time.Duration
}

// line is a connection of a door.
type line struct {
	net.Conn
	of      *gatewayDoor
	address string
	decoder *protocol.RequestDecoder
}

// play runs f with a cluster that has the node /a.
func play(t *testing.T, hosts, shards int, f func(t *testing.T, d *doors)) {
	synctest.Test(t, func(t *testing.T) {
		d := &doors{t: t, cluster: servertest.Start(t, servertest.Hosts(hosts), servertest.Shards(shards))}
		var err error
		d.watcher, err = client.Open(t.Context(), d.cluster.Addresses(), client.WithDialer(d.cluster.Dial))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = d.watcher.Close() })
		if _, err := d.watcher.CreateNode(t.Context(), "/a", client.NodeConfig{}); err != nil {
			t.Fatal(err)
		}
		f(t, d)
	})
}

// open opens one more gateway.
func (d *doors) open() *gatewayDoor {
	o := &gatewayDoor{t: d.t, asked: make(map[protocol.Kind]int), slow: make(map[string]time.Duration)}
	dial := func(ctx context.Context, address string) (net.Conn, error) {
		c, err := d.cluster.Dial(ctx, address)
		if err != nil {
			return nil, err
		}
		l := &line{Conn: c, of: o, address: address, decoder: protocol.NewRequestDecoder(protocol.MaxDataBytes)}
		o.mu.Lock()
		o.lines = append(o.lines, l)
		o.mu.Unlock()
		return l, nil
	}
	o.Gateway = New(Config{Open: func(ctx context.Context, token string) (*client.Client, error) {
		return client.Open(ctx, d.cluster.Addresses(), client.WithDialer(dial), client.WithToken(token))
	}})
	d.t.Cleanup(o.Close)
	return o
}

// Write counts requests, and is slow for a slow host.
func (l *line) Write(b []byte) (int, error) {
	l.of.mu.Lock()
	wait := l.of.slow[l.address]
	for rest := b; ; {
		payload, size, err := protocol.ScanFrame(rest, 4<<20)
		if err != nil || payload == nil {
			break
		}
		if r, err := l.decoder.Decode(payload); err == nil {
			l.of.asked[r.Kind]++
		}
		rest = rest[size:]
	}
	l.of.mu.Unlock()
	time.Sleep(wait)
	return l.Conn.Write(b)
}

// Close closes the connection. A slow host notices late.
func (l *line) Close() error {
	l.of.mu.Lock()
	wait := l.of.slow[l.address]
	l.of.mu.Unlock()
	if wait > 0 {
		time.AfterFunc(wait, func() { _ = l.Conn.Close() })
		return l.Conn.SetReadDeadline(time.Now())
	}
	return l.Conn.Close()
}

// slowTo delays the gateway's further data to a host.
func (d *gatewayDoor) slowTo(host shard.HostID, by time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.slow[servertest.Address(host)] = by
}

// count returns the requests since the last count, after all work under way has ended.
func (d *gatewayDoor) count() map[protocol.Kind]int {
	synctest.Wait()
	d.mu.Lock()
	defer d.mu.Unlock()
	asked := maps.Clone(d.asked)
	clear(d.asked)
	return asked
}

// cut breaks all the gateway's connections, like its death.
func (d *gatewayDoor) cut() {
	d.mu.Lock()
	lines := d.lines
	d.lines = nil
	d.mu.Unlock()
	for _, l := range lines {
		_ = l.Close()
	}
}

// attached counts the attached sessions.
func (d *gatewayDoor) attached() int {
	synctest.Wait()
	d.stays.mu.Lock()
	defer d.stays.mu.Unlock()
	return len(d.stays.known)
}

// visitor is a caller with a session.
type visitor struct {
	t       *testing.T
	ID      string
	Session string
	id      uint64
	asked   time.Time // time of the latest request
}

func (d *gatewayDoor) start(timeout time.Duration) *visitor {
	d.t.Helper()
	v := &visitor{t: d.t, asked: time.Now()}
	r := v.post(d, "/v1/session/create", fmt.Sprintf(`{"node":"/a","timeout_ms":%d}`, timeout.Milliseconds()))
	r.in(d.t, v)
	if _, err := fmt.Sscan(v.ID, &v.id); err != nil {
		d.t.Fatal(err)
	}
	return v
}

// post sends a request by the session, from any goroutine.
func (v *visitor) post(o *gatewayDoor, path, body string, header ...string) reply {
	r := httptest.NewRequestWithContext(context.Background(), http.MethodPost, path, strings.NewReader(body))
	r.Host = "localhost"
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set(sessionHeader, v.Session)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	o.ServeHTTP(w, r)
	return reply{w.Code, w.Header(), w.Body.String()}
}

// must is post for a request that must succeed.
func (v *visitor) must(o *gatewayDoor, path, body string, header ...string) string {
	v.t.Helper()
	v.asked = time.Now()
	r := v.post(o, path, body, header...)
	if r.code != http.StatusOK {
		v.t.Fatalf("%s: %d %s", path, r.code, r.text)
	}
	return r.text
}

func (v *visitor) keep(o *gatewayDoor) { v.t.Helper(); v.must(o, "/v1/session/keep-alive", "{}") }

// lasts waits for the session's end and returns its time.
func (d *doors) lasts(v *visitor) time.Time {
	d.t.Helper()
	for end := time.Now().Add(time.Hour); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if _, err := d.watcher.DescribeSession(d.t.Context(), v.id); errors.Is(err, client.ErrSessionExpired) {
			return time.Now()
		}
	}
	d.t.Fatal("the session does not end")
	return time.Time{}
}

// isAttached asks the host.
func (d *doors) isAttached(v *visitor) bool {
	d.t.Helper()
	info, err := d.watcher.DescribeSession(d.t.Context(), v.id)
	if err != nil {
		d.t.Fatal(err)
	}
	return info.Attached
}
