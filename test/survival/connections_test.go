//go:build linux

package survival_test

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/valyala/bytebufferpool"

	"github.com/signalbox/signalbox/protocol"
)

// idler is a connection with an idle session that only pings.
type idler struct {
	conn    net.Conn
	in      *bufio.Reader
	session uint64
}

// next returns the payload of the next frame, valid until the next call. It skips pushed host lists.
func (i *idler) next(buf []byte) ([]byte, error) {
	for {
		payload, err := i.frame(buf)
		if err != nil || len(payload) < 2 || payload[1] != byte(protocol.KindRoutingChanged) {
			return payload, err
		}
	}
}

func (i *idler) frame(buf []byte) ([]byte, error) {
	_ = i.conn.SetReadDeadline(time.Now().Add(patience))
	var head [4]byte
	if _, err := io.ReadFull(i.in, head[:]); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(head[:])
	if int(n) > len(buf) {
		return nil, fmt.Errorf("a frame of %d bytes", n)
	}
	_, err := io.ReadFull(i.in, buf[:n])
	return buf[:n], err
}

// call sends a request and returns the next frame as its answer.
func (i *idler) call(id uint64, m protocol.RequestMessage) (*protocol.Answer, error) {
	var out bytebufferpool.ByteBuffer
	protocol.NewEncoder().Request(&out, id, m)
	if _, err := i.conn.Write(out.B); err != nil {
		return nil, err
	}
	payload, err := i.next(make([]byte, 1<<10))
	if err != nil {
		return nil, err
	}
	a, err := protocol.NewAnswerDecoder().Decode(payload)
	if err != nil {
		return nil, err
	}
	return a, a.Result.Err()
}

// begin connects and starts a session, with retries: a host stalled for seconds closes connections with an unread
// hello.
func (i *idler) begin(address string, timeout time.Duration) (err error) {
	late := time.Now().Add(patience)
	for try := 0; ; try++ {
		if err = i.tryToBegin(address, timeout); err == nil || time.Now().After(late) {
			return err
		}
		if i.conn != nil {
			_ = i.conn.Close()
		}
		backOff(try, 0)
	}
}

func (i *idler) tryToBegin(address string, timeout time.Duration) (err error) {
	if i.conn, err = net.DialTimeout("tcp", address, patience); err != nil {
		return err
	}
	i.in = bufio.NewReaderSize(i.conn, 64)
	if _, err := i.call(1, &protocol.Hello{VersionMin: 1, VersionMax: 1}); err != nil {
		return err
	}
	a, err := i.call(2, &protocol.SessionStart{Path: []byte("/idle"), TimeoutMillis: uint64(timeout.Milliseconds()),
		SessionSecret: []byte("key")})
	if err == nil {
		i.session = a.SessionStart.SessionID
	}
	return err
}

// idle pings until the end.
func (i *idler) idle(every time.Duration, slowest *atomic.Int64, end chan struct{}) error {
	ping := []byte{0, 0, 0, 3, 0x92, byte(protocol.KindPing), 3}
	buf := make([]byte, 256)
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-end:
			return nil
		case <-tick.C:
		}
		sent := time.Now()
		if _, err := i.conn.Write(ping); err != nil {
			return err
		}
		payload, err := i.next(buf)
		if err != nil {
			return err
		}
		if len(payload) < 2 || payload[1] != byte(protocol.KindPing.Answer()) {
			return fmt.Errorf("instead of a PONG: %x", payload)
		}
		for took := int64(time.Since(sent)); ; {
			if old := slowest.Load(); took <= old || slowest.CompareAndSwap(old, took) {
				break
			}
		}
	}
}

// openFiles is how many files a process may have open.
func openFiles(t *testing.T) int {
	t.Helper()
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	return int(min(limit.Max, 1<<20))
}

func TestAHostBearsThousandsOfIdleConnections(t *testing.T) {
	t.Parallel()
	count, timeout := min(15_000, openFiles(t)-1000), 15*time.Second // some files are used otherwise
	if testing.Short() {
		count = 500
	}
	if text := os.Getenv("SURVIVAL_CONNECTIONS"); text != "" {
		var err error
		if count, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	hosts := serveAll(t, newPlaces(t, "a"))
	h := hosts[0]
	newNode(t, hosts, "/idle", protocol.NodeConfig{})
	before := h.resident()

	// No more than so many at once say hello.
	var (
		group   sync.WaitGroup
		begun   atomic.Int64
		changes notifier // for begun and faults
		slowest atomic.Int64
		gate    = make(chan struct{}, 32)
		end     = make(chan struct{})
		faults  = make(chan error, count)
		began   = time.Now()
	)
	finish := sync.OnceFunc(func() { close(end) })
	t.Cleanup(group.Wait)
	t.Cleanup(finish)
	for range count {
		group.Go(func() {
			i := &idler{}
			gate <- struct{}{}
			err := i.begin(h.Place.Client, timeout)
			<-gate
			if i.conn != nil {
				defer i.conn.Close()
			}
			if err == nil {
				begun.Add(1)
				changes.notify()
				err = i.idle(timeout/3, &slowest, end)
			}
			if err != nil {
				faults <- fmt.Errorf("session %x: %w", i.session, err)
				changes.notify()
			}
		})
	}
	for n := 0; n < count; n = min(n+500, count) { // without a time limit for all
		await(t, "more are connected", &changes, func() bool {
			return begun.Load() >= int64(min(n+500, count)) || len(faults) > 0
		})
	}
	t.Logf("%d connections with a session each after %v", begun.Load(), time.Since(began))
	slowest.Store(0)

	// Others work for longer than the timeout.
	idle := time.Now()
	l := newLoad(t, hosts, "/idle", timeout, 1, 2)
	rounds := 0
	for ; time.Since(idle) < timeout+2*time.Second && len(faults) == 0; rounds++ {
		l.progress(1)
	}
	pause := l.record.longestPause(idle)
	status := h.status()
	after := h.resident()
	perConnection := (after - before) / count
	t.Logf("memory: %d MiB before, %d MiB with them, %d bytes for each; the slowest pong took %v",
		before>>20, after>>20, perConnection, time.Duration(slowest.Load()))
	t.Logf("the lock was held %d times, %v", l.record.cycles()["lock-0"], pause)
	if status.Connections.Open < int64(count) {
		t.Errorf("the host has %d connections", status.Connections.Open)
	}
	if perConnection > 64<<10 && count >= 5000 {
		t.Errorf("an idle connection costs %d bytes", perConnection)
	}
	if pause.took > timeout {
		t.Errorf("%v", pause)
	}
	l.check()
	l.record.checkNoSessionEnded()
	finish()
	group.Wait()
	close(faults)
	for err := range faults {
		t.Error(err)
	}
}
