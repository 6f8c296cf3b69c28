//go:build linux

package ydb_test

import (
	"flag"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	sdk "github.com/ydb-platform/ydb-go-sdk/v3"
	"github.com/ydb-platform/ydb-go-sdk/v3/coordination"
	"github.com/ydb-platform/ydb-go-sdk/v3/coordination/options"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/internal/subprocess"
	"github.com/signalbox/signalbox/server/servertest/process"
)

var faultsToo = flag.Bool("faults", false, "run the tests that kill, stop and cut off real processes")

// scene is an SDK program with a lock, its gateway, the host behind the gateway, and the connections between them; and
// a cluster client that waits for the lock.
type scene struct {
	t         *testing.T
	lock      string
	place     *process.Place
	host      *process.Host
	toHost    *relay
	toGateway *relay
	gateway   *subprocess.Process
	holder    *subprocess.Process
}

// fault is a scene's failure. A holder hit by the failure cannot report the end of its reliance on the lease.
type fault struct {
	name string
	own  bool // the scene has its own host
	do   func(s *scene)
	// after is done when the holder no longer relies on its lease.
	after func(s *scene)
	// killed is the holder, which relied on its lease until then; a stopped holder cannot know the time.
	killed, stopped bool
}

var faults = []fault{
	{name: "the SDK hears nothing", do: func(s *scene) { s.toGateway.silence() }},
	{name: "the gateway hears nothing", do: func(s *scene) { s.toGateway.silence(); s.toHost.silence() }},
	{name: "the host hears nothing", do: func(s *scene) { s.toHost.silence() }},
	{name: "the SDK is cut off", do: func(s *scene) { s.toGateway.close() }},
	{name: "the gateway is cut off", do: func(s *scene) { s.toGateway.close(); s.toHost.close() }},
	{name: "the host is cut off", do: func(s *scene) { s.toHost.close() }},
	{name: "the SDK is killed", do: func(s *scene) { s.holder.Kill() }, killed: true},
	{name: "the gateway is killed", do: func(s *scene) { s.gateway.Kill() }},
	{name: "the host is killed", own: true, do: func(s *scene) { s.host.Kill() }, after: (*scene).startHost},
	{name: "the SDK is stopped", do: func(s *scene) { s.pause(s.holder) }, stopped: true},
	{name: "the gateway is stopped", do: func(s *scene) { s.pause(s.gateway) },
		after: func(s *scene) { s.resume(s.gateway) }},
	{name: "the host is stopped", own: true, do: func(s *scene) { s.pause(s.host.Process) },
		after: func(s *scene) { s.resume(s.host.Process) }},
}

// TestNoTwoHoldersWhateverFails: an SDK program never believes in a lock that has another owner, whichever of SDK,
// gateway and host is killed, stopped, cut off or gets no data. A run in which the test machine stood still proves
// nothing.
func TestNoTwoHoldersWhateverFails(t *testing.T) {
	if !*faultsToo {
		t.Skip("it takes a minute; run it with -faults")
	}
	program := process.Program{Path: build(t, filepath.Join("..", ".."), "./cmd/signalbox")}
	place, host := newHost(t, program)
	for i, f := range faults {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			s := &scene{t: t, lock: fmt.Sprintf("lock-%d", i), place: place, host: host}
			if f.own {
				s.place, s.host = newHost(t, program)
			}
			s.start()
			s.play(f)
		})
	}
}

// build builds a module's program.
func build(t testing.TB, module, name string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), filepath.Base(name))
	cmd := exec.Command("go", "build", "-o", path, name)
	cmd.Dir = module
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return path
}

// startGateway starts the command in front of hosts.
func startGateway(t testing.TB, command, listen, hosts string, args ...string) *subprocess.Process {
	t.Helper()
	args = append(args, "--listen", listen, "--endpoints", hosts, "--metrics-listen", "off")
	p, err := subprocess.Launch("signalbox-ydb", exec.Command(command, args...))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	if err := p.AwaitOutput("it is ready", patience, func() bool {
		return strings.Contains(p.Errors(), "is ready")
	}); err != nil {
		t.Fatal(err)
	}
	return p
}

// TestAGatewayThatIsKilled: SDK programs return with their sessions through another gateway and keep their locks.
func TestAGatewayThatIsKilled(t *testing.T) {
	if !*faultsToo {
		t.Skip("it starts processes; run it with -faults")
	}
	place, _ := newHost(t, process.Program{Path: build(t, filepath.Join("..", ".."), "./cmd/signalbox")})
	command := build(t, ".", "./signalbox-ydb")
	ports, err := subprocess.ReservePorts(2)
	if err != nil {
		t.Fatal(err)
	}
	all := strings.Join(ports.Addresses, ",")
	first := startGateway(t, command, ports.Addresses[0], place.Client, "--advertise", all)
	startGateway(t, command, ports.Addresses[1], place.Client, "--advertise", all)
	db, err := sdk.Open(t.Context(), "grpc://"+ports.Addresses[0]+database)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close(t.Context())
	var sessions []coordination.Session
	var leases []coordination.Lease
	for i := range 8 {
		sessions = append(sessions, sessionOf(t, db))
		lease, err := sessions[i].AcquireSemaphore(t.Context(), fmt.Sprintf("lock-%d", i), coordination.Exclusive,
			options.WithEphemeral(true))
		if err != nil {
			t.Fatal(err)
		}
		leases = append(leases, lease)
	}
	first.Kill()
	for i, s := range sessions {
		d, err := s.DescribeSemaphore(t.Context(), fmt.Sprintf("lock-%d", i), options.WithDescribeOwners(true))
		if err != nil || len(d.Owners) != 1 || d.Owners[0].SessionID != s.SessionID() {
			t.Errorf("lock-%d is %v, %v; want an owner of session %d", i, d, err, s.SessionID())
		}
		if err := leases[i].Context().Err(); err != nil {
			t.Errorf("the lease of lock-%d has ended: %v", i, err)
		}
	}
}

// newHost starts a host with the tests' node.
func newHost(t testing.TB, program process.Program) (*process.Place, *process.Host) {
	t.Helper()
	place, err := process.NewPlace(program, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	host, err := place.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { host.Kill() })
	if err := host.AwaitReady(patience); err != nil {
		t.Fatal(err)
	}
	c := nativeClient(t, place.Client)
	if _, err := c.CreateNode(t.Context(), nodePath, client.NodeConfig{}); err != nil {
		t.Fatal(err)
	}
	return place, host
}

// patience bounds the wait for an event that must come.
const patience = 5 * time.Minute

func nativeClient(t testing.TB, address string) *client.Client {
	t.Helper()
	c, err := client.Open(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// start starts a gateway and the holder, and waits until the holder has the lock.
func (s *scene) start() {
	s.t.Helper()
	s.toHost = newRelay(s.t, "")
	s.gateway = launch(s.t, "gateway", s.toHost.address, s.place.Client)
	await(s.t, s.gateway, "listens")
	s.toGateway = newRelay(s.t, strings.TrimSpace(line(s.gateway.Output(), "listens")))
	s.holder = launch(s.t, "holder", "grpc://"+s.toGateway.address+database, s.lock)
	await(s.t, s.holder, "holds")
}

func (s *scene) pause(p *subprocess.Process) {
	s.t.Helper()
	if err := p.Pause(); err != nil {
		s.t.Fatal(err)
	}
}

func (s *scene) resume(p *subprocess.Process) {
	s.t.Helper()
	if err := p.Signal(syscall.SIGCONT); err != nil {
		s.t.Fatal(err)
	}
}

func (s *scene) startHost() {
	s.t.Helper()
	host, err := s.place.Start()
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(host.Kill)
}

// stillness is the longest pause of a process in a valid run: less than a message's largest delay (DESIGN.md).
const stillness = time.Second

// play applies the fault, and compares the end of the holder's belief with the next grant.
func (s *scene) play(f fault) {
	s.t.Helper()
	var stall stallMeter
	defer stall.run()()
	granted := s.contend()
	f.do(s)
	var ended int64
	var still time.Duration
	switch {
	case f.killed:
		ended = time.Now().UnixNano()
	case !f.stopped:
		ended, still = s.reliance()
	}
	if f.after != nil {
		f.after(s)
	}
	var at int64
	select {
	case at = <-granted:
	case <-time.After(patience):
		s.t.Fatal("the lock is never free")
	}
	if f.stopped {
		s.resume(s.holder)
		_, _ = s.reliance() // the holder gives up, once it can
		return
	}
	between := time.Duration(at - ended)
	s.t.Logf("another one has the lock %v after the holder ceased to believe", between)
	if still = max(still, time.Duration(stall.longest.Load())); still > stillness {
		s.t.Logf("processes stood still for %v: it says nothing", still)
	} else if between <= 0 {
		s.t.Errorf("another one had the lock %v before the holder ceased to believe", -between)
	}
}

// contend waits for the lock and returns when it has the lock.
func (s *scene) contend() <-chan int64 {
	s.t.Helper()
	granted := make(chan int64, 1)
	other, err := nativeClient(s.t, s.place.Client).Session(s.t.Context(), nodePath,
		client.SessionTimeout(10*time.Minute))
	if err != nil {
		s.t.Fatal(err)
	}
	queued := make(chan struct{}, 1)
	go func() {
		_, err := other.Ephemeral(s.lock).Lock(s.t.Context(), client.OnQueued(func(uint64) { queued <- struct{}{} }))
		if err == nil {
			granted <- time.Now().UnixNano()
		}
	}()
	select {
	case <-queued:
	case <-time.After(patience):
		s.t.Fatal("the other one does not wait")
	}
	return granted
}

// reliance returns the end of the holder's belief and the holder's longest pause.
func (s *scene) reliance() (at int64, still time.Duration) {
	s.t.Helper()
	await(s.t, s.holder, "ended")
	var nanoseconds int64
	if _, err := fmt.Sscan(line(s.holder.Output(), "ended"), &at, &nanoseconds); err != nil {
		s.t.Fatal(err)
	}
	return at, time.Duration(nanoseconds)
}
