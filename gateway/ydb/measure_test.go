//go:build linux

package ydb_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ydb-platform/ydb-go-genproto/Ydb_Coordination_V1"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Coordination"
	sdk "github.com/ydb-platform/ydb-go-sdk/v3"
	"github.com/ydb-platform/ydb-go-sdk/v3/coordination"
	"github.com/ydb-platform/ydb-go-sdk/v3/coordination/options"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/internal/subprocess"
	"github.com/signalbox/signalbox/server/servertest/process"
)

var idleStreams = flag.Int("idle-streams", 0, "measure what so many idle streams cost a gateway")

// measuredSessions is the number of sessions that a benchmark's callers share.
var measuredSessions = flag.Int("measured-sessions", 8, "sessions that the callers of a benchmark share")

// gatewayProcess is the command, in front of one host.
type gatewayProcess struct {
	*subprocess.Process
	behind        *process.Host
	host, address string
}

func newGatewayProcess(t testing.TB) *gatewayProcess {
	t.Helper()
	place, host := newHost(t, process.Program{Path: build(t, filepath.Join("..", ".."), "./cmd/signalbox")})
	ports, err := subprocess.ReservePorts(1)
	if err != nil {
		t.Fatal(err)
	}
	g := &gatewayProcess{behind: host, host: place.Client, address: ports.Addresses[0]}
	g.Process = startGateway(t, build(t, ".", "./signalbox-ydb"), g.address, g.host)
	return g
}

// locker locks and unlocks a caller's lock.
type locker func(ctx context.Context, name string) error

// BenchmarkLockAndUnlock compares this process's callers on the SDK through a gateway, on the SDK with an instant
// server, and on Signalbox's client without a gateway, with equally many sessions. One operation locks and unlocks the
// caller's own lock. The benchmark reports each process's processor time per operation, the processors' idle share, and
// the command count in a host's batches.
func BenchmarkLockAndUnlock(b *testing.B) {
	g := newGatewayProcess(b)
	yes := newInstantServer(b)
	host, gateway := spender{"host", g.behind.PID()}, spender{"gateway", g.PID()}
	for _, callers := range []int{1, 64, 512} {
		for _, way := range []struct {
			name     string
			lockers  []locker
			spenders []spender
		}{
			{"native", nativeLockers(b, g), []spender{host}},
			{"sdk", sdkLockers(b, g.address), []spender{gateway, host}},
			{"sdk-alone", sdkLockers(b, yes.address), []spender{{"server", yes.PID()}}},
		} {
			b.Run(fmt.Sprintf("%s/%d", way.name, callers), func(b *testing.B) {
				before, idle := countsOf(b, g.behind), idleTime(b)
				lockAndUnlock(b, way.lockers, callers, append(way.spenders, spender{"callers", os.Getpid()}))
				elapsed := b.Elapsed().Seconds() * float64(runtime.NumCPU())
				b.ReportMetric(100*(idleTime(b)-idle).Seconds()/elapsed, "idle-%")
				after := countsOf(b, g.behind)
				if batches := after.batches - before.batches; batches > float64(b.N)/1000 {
					b.ReportMetric((after.commands-before.commands)/batches, "commands/batch")
					b.ReportMetric(1e6*(after.syncing-before.syncing)/batches, "sync-µs")
				}
			})
		}
	}
}

// logCounts are the log's counts in a host's metrics.
type logCounts struct {
	commands, batches float64
	syncing           float64 // in seconds
}

func countsOf(t testing.TB, host *process.Host) (c logCounts) {
	t.Helper()
	_, text := host.Get("/metrics")
	for series, v := range map[string]*float64{
		"signalbox_commands_applied_total": &c.commands, "signalbox_batches_applied_total": &c.batches,
		"signalbox_wal_fsync_duration_seconds_sum": &c.syncing,
	} {
		_, rest, _ := strings.Cut(text, "\n"+series+" ")
		if _, err := fmt.Sscan(rest, v); err != nil {
			t.Fatalf("%s: %v", series, err)
		}
	}
	return c
}

// spender is a process with a share in the work.
type spender struct {
	name string
	pid  int
}

func lockAndUnlock(b *testing.B, lockers []locker, callers int, spenders []spender) {
	before := make([]time.Duration, len(spenders))
	for i, s := range spenders {
		before[i] = processor(b, s.pid)
	}
	b.ResetTimer()
	var left atomic.Int64
	left.Store(int64(b.N))
	var all sync.WaitGroup
	for i := range callers {
		all.Go(func() {
			name := fmt.Sprintf("lock-%d", i)
			for left.Add(-1) >= 0 {
				if err := lockers[i%len(lockers)](b.Context(), name); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "locks/s")
	for i, s := range spenders {
		spent := processor(b, s.pid) - before[i]
		b.ReportMetric(float64(spent.Microseconds())/float64(b.N), s.name+"-µs/op")
	}
}

func nativeLockers(t testing.TB, g *gatewayProcess) (list []locker) {
	c := nativeClient(t, g.host)
	for range *measuredSessions {
		s, err := c.Session(t.Context(), nodePath, client.SessionTimeout(time.Minute))
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, func(ctx context.Context, name string) error {
			lease, err := s.Ephemeral(name).Lock(ctx)
			if err != nil {
				return err
			}
			return lease.Release(ctx)
		})
	}
	return list
}

func sdkLockers(t testing.TB, address string) (list []locker) {
	db, err := sdk.Open(t.Context(), "grpc://"+address+database)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close(context.Background()) })
	for range *measuredSessions {
		s, err := db.Coordination().Session(t.Context(), nodePath, options.WithSessionTimeout(time.Minute))
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, func(ctx context.Context, name string) error {
			lease, err := s.AcquireSemaphore(ctx, name, coordination.Exclusive, options.WithEphemeral(true))
			if err != nil {
				return err
			}
			return lease.Release()
		})
	}
	return list
}

// Upper bounds for an idle stream's cost, and the lower bound for its pings.
const (
	idleStreamKiB   = 32
	idleStreamShare = 0.1 / 10_000 // of a core
	idleStreamPings = 0.8 / 2      // a second: one is due every 2 seconds
)

// TestIdleStreams measures a gateway's cost for idle streams.
func TestIdleStreams(t *testing.T) {
	if *idleStreams == 0 {
		t.Skip("it measures; run it with -idle-streams 10000")
	}
	const perConnection, second = 500, 20
	g := newGatewayProcess(t)
	before := g.memory(t)
	var started sync.WaitGroup
	var lost, pings atomic.Int64
	for first := 0; first < *idleStreams; first += perConnection {
		conn, err := grpc.NewClient(g.address, grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		for range min(perConnection, *idleStreams-first) {
			started.Add(1)
			go func() {
				if err := idle(t.Context(), conn, started.Done, &pings); err != nil && t.Context().Err() == nil {
					lost.Add(1)
				}
			}()
		}
		started.Wait()
	}
	from, spent, pinged := time.Now(), processor(t, g.PID()), pings.Load()
	time.Sleep(second * time.Second)
	took := time.Since(from)
	share := (processor(t, g.PID()) - spent).Seconds() / took.Seconds()
	each := (g.memory(t) - before) / int64(*idleStreams)
	rate := float64(pings.Load()-pinged) / took.Seconds()
	t.Logf("%d streams: %.1f KiB each, %.1f %% of a core, %.0f pings/s, %d streams lost", *idleStreams,
		float64(each)/1024, 100*share, rate, lost.Load())
	if lost.Load() > 0 {
		t.Error("streams were lost")
	}
	if n := float64(*idleStreams); each >= idleStreamKiB<<10 || share >= idleStreamShare*n || rate < idleStreamPings*n {
		t.Errorf("wanted are less than %d KiB each, %.1f %% of a core, and %.0f pings/s", idleStreamKiB,
			100*idleStreamShare*n, idleStreamPings*n)
	}
}

// idle has a session and answers pings, until the context ends.
func idle(ctx context.Context, conn *grpc.ClientConn, started func(), pings *atomic.Int64) error {
	done := sync.OnceFunc(started)
	defer done()
	s, err := Ydb_Coordination_V1.NewCoordinationServiceClient(conn).Session(ctx)
	if err == nil {
		err = s.Send(&request{Request: &Ydb_Coordination.SessionRequest_SessionStart_{
			SessionStart: &Ydb_Coordination.SessionRequest_SessionStart{Path: nodePath, TimeoutMillis: 30_000},
		}})
	}
	for err == nil {
		var m *response
		if m, err = s.Recv(); err != nil {
			return err
		}
		switch {
		case m.GetSessionStarted() != nil:
			done()
		case m.GetFailure() != nil:
			return fmt.Errorf("%v", m.GetFailure())
		case m.GetPing() != nil:
			pings.Add(1)
			err = s.Send(&request{Request: &Ydb_Coordination.SessionRequest_Pong{
				Pong: &Ydb_Coordination.SessionRequest_PingPong{Opaque: m.GetPing().Opaque},
			}})
		}
	}
	return err
}

// memory is the process's memory, in bytes.
func (g *gatewayProcess) memory(t testing.TB) (bytes int64) {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", g.PID()))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(status), "VmRSS:")
	if _, err := fmt.Sscan(rest, &bytes); err != nil {
		t.Fatal(err)
	}
	return bytes << 10
}

// idleTime is the machine's total processor idle time.
func idleTime(t testing.TB) time.Duration {
	t.Helper()
	stat, err := os.ReadFile("/proc/stat")
	if err != nil {
		t.Fatal(err)
	}
	var name string
	var user, nice, system, idle, waiting int64
	if _, err := fmt.Sscan(string(stat), &name, &user, &nice, &system, &idle, &waiting); err != nil {
		t.Fatal(err)
	}
	return time.Duration(idle+waiting) * 10 * time.Millisecond
}

// processor is a process's processor time.
func processor(t testing.TB, pid int) time.Duration {
	t.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	var user, system int64
	if _, err := fmt.Sscan(fields[11], &user); err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Sscan(fields[12], &system); err != nil {
		t.Fatal(err)
	}
	return time.Duration(user+system) * 10 * time.Millisecond // hundredths of a second, as everywhere on Linux
}
