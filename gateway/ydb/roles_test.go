//go:build linux

package ydb_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/ydb-platform/ydb-go-sdk/v3"
	"github.com/ydb-platform/ydb-go-sdk/v3/balancers"
	"github.com/ydb-platform/ydb-go-sdk/v3/coordination"
	"github.com/ydb-platform/ydb-go-sdk/v3/coordination/options"
	"google.golang.org/grpc"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/gateway/ydb"
	"github.com/signalbox/signalbox/internal/subprocess"
)

// Tests with real processes start this program again, as a gateway or as an SDK program with a lock. These variables
// give the role and its peers.
const (
	roleVariable  = "SIGNALBOX_TEST_ROLE"
	callsVariable = "SIGNALBOX_TEST_CALLS" // the address of a hosts' relay, or the SDK's connection string
	aboutVariable = "SIGNALBOX_TEST_ABOUT" // the hosts of a gateway, or the lock of a holder
)

func TestMain(m *testing.M) {
	roles := map[string]func(calls string) error{"gateway": beGateway, "holder": beHolder, "instant": beInstant}
	be, has := roles[os.Getenv(roleVariable)]
	if !has {
		os.Exit(m.Run())
	}
	if err := be(os.Getenv(callsVariable)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// launch starts this program in a role.
func launch(t testing.TB, role, calls, about string) *subprocess.Process {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program)
	cmd.Env = append(os.Environ(), roleVariable+"="+role, callsVariable+"="+calls, aboutVariable+"="+about)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	p, err := subprocess.Launch(role, cmd)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		p.Kill()
	})
	return p
}

// await waits for a line that begins with a word.
func await(t testing.TB, p *subprocess.Process, word string) {
	t.Helper()
	if err := p.AwaitOutput(word, patience, func() bool { return line(p.Output(), word) != "" }); err != nil {
		t.Fatal(err)
	}
}

// beGateway serves SDKs until it is killed. It reaches all hosts over a relay, and prints its address.
func beGateway(relay string) error {
	dial := func(ctx context.Context, address string) (net.Conn, error) {
		var d net.Dialer
		c, err := d.DialContext(ctx, "tcp", relay)
		if err == nil {
			_, err = fmt.Fprintln(c, address)
		}
		return c, err
	}
	g, err := ydb.New(ydb.Config{Open: func(ctx context.Context, token string) (*client.Client, error) {
		return client.Open(ctx, os.Getenv(aboutVariable), client.WithDialer(dial), client.WithToken(token))
	}})
	if err != nil {
		return err
	}
	server := grpc.NewServer(g.ServerOptions()...)
	g.Register(server)
	return serveHere(g, server)
}

// serveHere serves until the process is killed, and prints its address.
func serveHere(g *ydb.Gateway, server *grpc.Server) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println("listens", l.Addr())
	return server.Serve(g.Listener(l))
}

// beHolder holds a lock for its lease's whole length, and prints the begin and the end, with the process's longest
// pause.
func beHolder(dsn string) error {
	var stall stallMeter
	defer stall.run()()
	ctx := context.Background()
	db, err := sdk.Open(ctx, dsn, sdk.WithBalancer(balancers.SingleConn()))
	if err != nil {
		return err
	}
	s, err := db.Coordination().Session(ctx, nodePath, options.WithSessionTimeout(askedTimeout))
	if err != nil {
		return err
	}
	lease, err := s.AcquireSemaphore(ctx, os.Getenv(aboutVariable), coordination.Exclusive, options.WithEphemeral(true))
	if err != nil {
		return err
	}
	fmt.Println("holds")
	<-lease.Context().Done()
	fmt.Println("ended", time.Now().UnixNano(), stall.longest.Load())
	_, err = bufio.NewReader(os.Stdin).ReadString('\n') // until the test has read it
	return errors.Join(err, db.Close(ctx))
}

// askedTimeout is the holder's requested timeout.
const askedTimeout = 5 * time.Second

// stallMeter measures for how long a process stood still.
type stallMeter struct{ longest atomic.Int64 }

// run measures until stop is called.
func (m *stallMeter) run() (stop func()) {
	const step = 20 * time.Millisecond
	tick, done := time.NewTicker(step), make(chan struct{})
	go func() {
		for last := time.Now(); ; {
			select {
			case <-tick.C:
			case <-done:
				tick.Stop()
				return
			}
			now := time.Now()
			if late := int64(now.Sub(last) - step); late > m.longest.Load() {
				m.longest.Store(late)
			}
			last = now
		}
	}()
	return func() { close(done) }
}

// line returns the text after a word in an output, or "".
func line(output, word string) string {
	for l := range strings.Lines(output) {
		if rest, is := strings.CutPrefix(l, word); is && strings.HasSuffix(l, "\n") {
			return strings.TrimSpace(rest) + " "
		}
	}
	return ""
}
