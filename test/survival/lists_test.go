//go:build linux

package survival_test

import (
	"bufio"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/valyala/bytebufferpool"

	sdk "github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/discovery"
	"github.com/signalbox/signalbox/loadgen"
	"github.com/signalbox/signalbox/loadgen/report"
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/servertest/process"
)

var (
	listEntries = flag.Int("list-entries", 0,
		"how many entries the list of TestLocksBesideAListThatIsOpened has; 0: it is skipped")
	listWatchers = flag.Int("list-watchers", 1000, "how many watchers open the list, each over a connection of its own")
	listDecoded  = flag.Bool("list-decoded", false, "whether the watchers are clients that decode what they get")
	listTurns    = flag.Int("list-turns", 5, "how many turns it takes")
)

// listAt is set in the watcher process: the host's address.
const listAt = "SURVIVAL_LIST_AT"

// TestLocksBesideAListThatIsOpened measures locks at a fixed rate, alternating between undisturbed turns and turns in
// which many watchers open a long list at once. The watcher process runs at idle priority: watchers of a real cluster
// have their own processors, and only the host's work is to be measured.
func TestLocksBesideAListThatIsOpened(t *testing.T) {
	if at := os.Getenv(listAt); at != "" {
		openTheList(t, at)
		return
	}
	if *listEntries == 0 {
		t.Skip("make lists runs it")
	}
	dir, err := os.MkdirTemp(scratch, "lists-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	found, err := process.Places(program, dir, []string{"a"}, append([]string{"--pprof"}, roomForAll...)...)
	if err != nil {
		t.Fatal(err)
	}
	at := &place{found[0]}
	hosts := serveAll(t, []*place{at})
	newNode(t, hosts, "/list", protocol.NodeConfig{})
	c, err := sdk.Open(t.Context(), at.Client)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var running sync.WaitGroup
	for first := range 64 {
		running.Go(func() {
			for i := first; i < *listEntries; i += 64 {
				s, err := c.Session(t.Context(), "/list")
				if err == nil {
					address := fmt.Sprintf("10.0.%d.%d:7000", i/256, i%256)
					_, err = discovery.Register(t.Context(), s, "workers", discovery.Endpoint{Address: address})
				}
				if err != nil {
					t.Errorf("entry %d: %v", i, err)
					return
				}
			}
		})
	}
	running.Wait()
	var alone, beside []float64
	for range *listTurns {
		alone = append(alone, locksAtARate(t, at, nil).LatencyUS.P99)
		open, leave := newWatchers(t, at)
		beside = append(beside, locksAtARate(t, at, open).LatencyUS.P99)
		leave()
		t.Logf("p99 of locks: alone %.2f ms, while the list is opened %.2f ms", alone[len(alone)-1]/1000,
			beside[len(beside)-1]/1000)
	}
	t.Logf("medians of %d turns: %.2f and %.2f ms, %.2f times", *listTurns, median(alone)/1000, median(beside)/1000,
		median(beside)/median(alone))
}

// locksAtARate measures locks for five seconds, and runs `after` after one of them.
func locksAtARate(t *testing.T, at *place, after func()) *report.Report {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		if after != nil {
			time.Sleep(2 * time.Second)
			after()
		}
	}()
	r, err := loadgen.Run(t.Context(), loadgen.Config{Workload: "lock", Callers: 64, Connections: 1, Rate: 10_000,
		Warmup: time.Second, Duration: 5 * time.Second, Endpoints: at.Client})
	if err != nil {
		t.Fatal(err)
	}
	<-done
	t.Logf("locks in microseconds: %+v", *r.LatencyUS)
	return r
}

// newWatchers starts the watcher process and waits for its connections. open makes the watchers open the list and waits
// until all have it; they keep watching until leave.
func newWatchers(t *testing.T, at *place) (open, leave func()) {
	t.Helper()
	args := []string{os.Args[0], "-test.run=^" + t.Name() + "$", fmt.Sprint("-list-watchers=", *listWatchers),
		fmt.Sprint("-list-decoded=", *listDecoded)}
	if chrt, err := exec.LookPath("chrt"); err == nil {
		args = append([]string{chrt, "--idle", "0"}, args...)
	} else {
		args = append([]string{"nice", "-n", "19"}, args...)
	}
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env = append(os.Environ(), listAt+"="+at.Client, "SURVIVAL_PROGRAM="+filepath.Clean(program.Path))
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	var said []string
	until := func(line string) {
		for lines.Scan() && lines.Text() != line {
			said = append(said, lines.Text())
		}
	}
	until("connected")
	open = func() {
		began := time.Now()
		_, _ = fmt.Fprintln(in, "open")
		until("opened")
		t.Logf("all watchers had the list after %v", time.Since(began).Round(time.Millisecond))
	}
	leave = func() {
		_ = in.Close()
		until("")
		if err := cmd.Wait(); err != nil {
			t.Errorf("the watchers: %v\n%s", err, strings.Join(said, "\n"))
		}
	}
	return open, leave
}

// openTheList is the watcher process.
func openTheList(t *testing.T, at string) {
	open := watchersThatRead
	if *listDecoded {
		open = watchersThatDecode
	}
	watchers := open(t, at)
	in := bufio.NewReader(os.Stdin)
	fmt.Println("connected")
	_, _ = in.ReadString('\n')
	var running sync.WaitGroup
	for _, watch := range watchers {
		running.Go(func() {
			if err := watch(); err != nil {
				t.Error(err)
			}
		})
	}
	running.Wait()
	fmt.Println("opened")
	_, _ = in.ReadString('\n')
}

// watchersThatDecode are clients like those in programs.
func watchersThatDecode(t *testing.T, at string) (watchers []func() error) {
	for range *listWatchers {
		c, err := sdk.Open(t.Context(), at)
		if err == nil {
			err = c.Ping(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
		watchers = append(watchers, func() error {
			for set, err := range discovery.Watch(t.Context(), c, "/list", "workers") {
				if err == nil && len(set.Joined) == 0 {
					err = errors.New("a list is empty")
				}
				return err
			}
			return nil
		})
	}
	return watchers
}

// watchersThatRead are connections that only read as many bytes as the list has; a first client decodes it.
func watchersThatRead(t *testing.T, at string) (watchers []func() error) {
	c, err := sdk.Open(t.Context(), at)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	node, err := c.DescribeNode(t.Context(), "/list")
	if err != nil {
		t.Fatal(err)
	}
	frame := func(id uint64, m protocol.RequestMessage) []byte {
		var buf bytebufferpool.ByteBuffer
		protocol.NewEncoder().Request(&buf, id, m)
		return buf.B
	}
	hello := frame(1, &protocol.Hello{VersionMin: 1, VersionMax: 1, ClientName: []byte("survival")})
	watch := frame(2, &protocol.Watch{NodeID: node.ID, Name: []byte("workers"), Owners: true})
	whole := 0 // length of the list with all frames, once known
	for range 1 + *listWatchers {
		conn, err := net.Dial("tcp", at)
		if err == nil {
			_, err = conn.Write(hello)
		}
		if err != nil {
			t.Fatal(err)
		}
		in := bufio.NewReaderSize(conn, 64<<10)
		next := func() (payload []byte, err error) {
			head := make([]byte, protocol.FrameHeaderBytes)
			if _, err = io.ReadFull(in, head); err == nil {
				payload = make([]byte, binary.BigEndian.Uint32(head))
				_, err = io.ReadFull(in, payload)
			}
			return payload, err
		}
		if _, err := next(); err != nil { // the answer to HELLO
			t.Fatal(err)
		}
		open := func() error {
			_, err := conn.Write(watch)
			return err
		}
		if whole > 0 {
			watchers = append(watchers, func() error {
				if err := open(); err != nil {
					return err
				}
				_, err := io.CopyN(io.Discard, in, int64(whole))
				return err
			})
			continue
		}
		if err := open(); err != nil {
			t.Fatal(err)
		}
		for last := false; !last; {
			payload, err := next()
			if err != nil {
				t.Fatal(err)
			}
			a, err := protocol.NewAnswerDecoder().Decode(payload)
			if err == nil {
				err = a.Result.Err()
			}
			if err != nil {
				t.Fatal(err)
			}
			whole += protocol.FrameHeaderBytes + len(payload)
			last = a.Kind == protocol.KindWatchSnapshot && a.WatchSnapshot.Last
		}
	}
	return watchers
}
