//go:build linux

package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ydb-platform/ydb-go-genproto/Ydb_Coordination_V1"
	"github.com/ydb-platform/ydb-go-genproto/Ydb_Discovery_V1"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Discovery"
	"golang.org/x/net/http2"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/signalbox/signalbox/internal/subprocess"
)

// TestCrowdOfConnectionsAndCalls: a gateway with an open file limit 2,000 gets 2,100 connections that only answer
// pings, then thousands of silent calls. Well-behaved programs get answers, and the gateway's memory stays bounded.
func TestCrowdOfConnectionsAndCalls(t *testing.T) {
	const files, crowd = 2000, 2100
	if fileLimit() < crowd+500 {
		t.Skip("this process may not open as many files")
	}
	program := filepath.Join(t.TempDir(), "signalbox-ydb")
	if out, err := exec.Command("go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	ports, err := subprocess.ReservePorts(1)
	if err != nil {
		t.Fatal(err)
	}
	p, err := subprocess.Launch("signalbox-ydb", exec.Command("sh", "-c", fmt.Sprintf(
		"ulimit -n %d; exec %s --listen %s --metrics-listen off --endpoints 127.0.0.1:1", files, program,
		ports.Addresses[0])))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	if err := p.AwaitOutput("it is ready", time.Minute, func() bool {
		return strings.Contains(p.Errors(), "is ready")
	}); err != nil {
		t.Fatal(err)
	}
	served := func(what string) {
		t.Helper()
		for range 5 {
			c := connect(t, ports.Addresses[0], "127.0.0.2")
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			_, err := Ydb_Discovery_V1.NewDiscoveryServiceClient(c).ListEndpoints(ctx,
				&Ydb_Discovery.ListEndpointsRequest{})
			cancel()
			if err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			_ = c.Close()
		}
	}
	served("before")
	for range crowd {
		bare(t, ports.Addresses[0])
	}
	served("beside bare connections")
	attacker := Ydb_Coordination_V1.NewCoordinationServiceClient(connect(t, ports.Addresses[0], "127.0.0.1"))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for range 20_000 {
		go func() { _, _ = attacker.Session(ctx) }()
	}
	served("beside calls that send nothing")
	if rss := memory(t, p.PID()); rss > 200<<10 {
		t.Errorf("it takes %d KiB", rss)
	} else {
		t.Logf("it takes %d KiB", rss)
	}
}

// connect connects to the gateway from a local address.
func connect(t *testing.T, to, from string) *grpc.ClientConn {
	t.Helper()
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	c, err := grpc.NewClient(to, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, to string) (net.Conn, error) {
			return dialer.DialContext(ctx, "tcp", to)
		}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// bare opens an HTTP/2 connection that only answers pings.
func bare(t *testing.T, to string) {
	t.Helper()
	c, err := net.Dial("tcp", to)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	frames := http2.NewFramer(c, c)
	if _, err = c.Write([]byte(http2.ClientPreface)); err != nil || frames.WriteSettings() != nil {
		return // closed to admit other clients
	}
	go func() {
		for {
			f, err := frames.ReadFrame()
			if err != nil {
				return
			}
			if ping, is := f.(*http2.PingFrame); is && !ping.IsAck() && frames.WritePing(true, ping.Data) != nil {
				return
			}
		}
	}()
}

// memory returns the process's resident memory in KiB.
func memory(t *testing.T, pid int) (kib int) {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "VmRSS:")
	if _, err = fmt.Sscan(rest, &kib); err != nil {
		t.Fatal(err)
	}
	return kib
}
