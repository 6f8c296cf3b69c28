package host

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/internal/subprocess"
	"github.com/signalbox/signalbox/server/identity"
	"github.com/signalbox/signalbox/server/settings"
	"github.com/signalbox/signalbox/server/transport"
)

// newSettings are a single host's settings, on free ports and a new directory.
func newSettings(t *testing.T) settings.Settings {
	t.Helper()
	s := settings.Defaults()
	s.DataDir = filepath.Join(t.TempDir(), "data")
	s.Listen, s.AdminListen, s.AnyPort = "127.0.0.1:0", "127.0.0.1:0", true
	return s
}

// start starts a host and waits until it is ready.
func start(t *testing.T, o Options) *Host {
	t.Helper()
	h, err := Start(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.Close)
	if err := h.WaitReady(within(t, time.Minute)); err != nil {
		t.Fatal(err)
	}
	return h
}

func within(t *testing.T, limit time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	t.Cleanup(cancel)
	return ctx
}

func TestAHostStartsAgainOnItsDirectory(t *testing.T) {
	s := newSettings(t)
	h := start(t, Options{Settings: s})
	cluster := h.Identity().Cluster
	a := h.Addresses()
	if a.Client == "" || strings.HasSuffix(a.Client, ":0") || a.ClientAdvertise != a.Client ||
		a.AdminAdvertise != a.Admin {
		t.Errorf("addresses %+v", a)
	}
	if status := h.Status(); status.Host.ClientAddress != a.Client ||
		status.Cluster.Hosts[0].ClientAddress != a.Client {
		t.Errorf("with the addresses %+v its status is %+v", a, status)
	}
	if err := h.Stop(within(t, time.Minute)); err != nil {
		t.Fatal(err)
	}
	if err := h.Ready(); err == nil || err.Error() != errStopping.Error() {
		t.Errorf("stopped, it is ready: %v", err)
	}
	h.Close()
	h.Checks()
	h.Status()
	h.WriteMetrics(io.Discard)
	again := start(t, Options{Settings: s})
	if got := again.Identity().Cluster; got != cluster {
		t.Errorf("cluster %s became %s", cluster, got)
	}
}

func TestClientsConnectThroughATransportOfTheProgram(t *testing.T) {
	h := start(t, Options{Settings: newSettings(t)})
	memory := transport.NewInside(h, transport.Pipes("client"))
	defer memory.Close()
	c, err := client.Open(t.Context(), "box:1", client.WithDialer(func(context.Context, string) (net.Conn, error) {
		return memory.Dial()
	}))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.CreateNode(t.Context(), "/jobs", client.NodeConfig{}); err != nil {
		t.Error(err)
	}
}

func TestEverythingThatIsWrongIsReportedWithItsKind(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	tokens := filepath.Join(t.TempDir(), "tokens.yaml")
	if err := os.WriteFile(tokens, []byte("no list of tokens"), 0o600); err != nil {
		t.Fatal(err)
	}
	running := newSettings(t)
	start(t, Options{Settings: running})
	for name, c := range map[string]struct {
		change func(*settings.Settings)
		kind   Kind
		says   []string
	}{
		"settings": {func(s *settings.Settings) { s.Shards = -1 }, KindSettings, []string{"--shards"}},
		"directory": {func(s *settings.Settings) { s.DataDir = running.DataDir }, KindData,
			[]string{"in use by process"}},
		"address": {func(s *settings.Settings) { s.Listen = taken.Addr().String() }, KindAddress,
			[]string{"--listen: "}},
		"directory and address": {func(s *settings.Settings) {
			s.DataDir, s.AdminListen = running.DataDir, taken.Addr().String()
		}, KindData, []string{"the host cannot start:", "in use by process", "--admin-listen: "}},
		"all": {func(s *settings.Settings) {
			s.DataDir, s.Listen, s.TokenFile = running.DataDir, taken.Addr().String(), tokens
		}, KindSettings, []string{"in use by process", tokens, "--listen: "}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSettings(t)
			c.change(&s)
			h, err := Start(Options{Settings: s})
			if err == nil {
				h.Close()
				t.Fatal("it started")
			}
			if got := KindOf(err); got != c.kind {
				t.Errorf("kind %d, want %d: %v", got, c.kind, err)
			}
			for _, part := range c.says {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%v; it does not say %q", err, part)
				}
			}
			if s.DataDir != running.DataDir {
				if _, err := identity.Read(s.DataDir); err == nil {
					t.Error("the directory has an identity")
				}
			}
		})
	}
}

func TestAHostThatCannotGoOnServesNoMore(t *testing.T) {
	fault := errors.New("its copy differs")
	var reported error
	h := start(t, Options{Settings: newSettings(t), Halt: func(err error) { reported = err }})
	c, err := net.Dial("tcp", h.Addresses().Client)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	h.halt(fault)
	h.halt(errors.New("another one"))
	<-h.Done()
	if h.Err() != fault || reported == nil {
		t.Errorf("it failed with %v, and Halt got %v", h.Err(), reported)
	}
	if err := h.Ready(); err == nil || err.Error() != fault.Error() {
		t.Errorf("ready: %v", err)
	}
	if err := h.WaitReady(t.Context()); err != fault {
		t.Errorf("waiting for it: %v", err)
	}
	_ = c.SetReadDeadline(time.Now().Add(time.Minute))
	if _, err := c.Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the connection is open: %v", err)
	}
	if err := h.Stop(within(t, time.Minute)); err != nil {
		t.Error(err)
	}
}

// newClusterSettings are the settings for a cluster's hosts.
func newClusterSettings(t *testing.T, names ...string) (all []settings.Settings) {
	t.Helper()
	ports, err := subprocess.ReservePorts(len(names))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(ports.Close)
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte(rand.Text()), 0o600); err != nil {
		t.Fatal(err)
	}
	var hosts []settings.InitialHost
	for i, name := range names {
		hosts = append(hosts, settings.InitialHost{Name: name, Raft: ports.Addresses[i]})
	}
	for _, name := range names {
		s := newSettings(t)
		s.Name, s.InitialHosts, s.RaftSecretFile = name, hosts, secret
		all = append(all, s)
	}
	return all
}

func TestHostsOfOneProgramMakeACluster(t *testing.T) {
	var hosts []*Host
	var addresses []string
	for _, s := range newClusterSettings(t, "a", "b", "c") {
		h, err := Start(Options{Settings: s})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(h.Close)
		hosts, addresses = append(hosts, h), append(addresses, h.Addresses().Client)
	}
	for _, h := range hosts {
		if err := h.WaitReady(within(t, time.Minute)); err != nil {
			t.Fatal(err)
		}
	}
	c, err := client.Open(t.Context(), strings.Join(addresses, ","))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.CreateNode(t.Context(), "/jobs", client.NodeConfig{}); err != nil {
		t.Fatal(err)
	}
	if err := hosts[0].Stop(within(t, time.Minute)); err != nil {
		t.Error(err)
	}
	// The other hosts take over the first host's leaderships.
	for _, h := range hosts[1:] {
		if err := h.WaitReady(within(t, time.Minute)); err != nil {
			t.Fatal(err)
		}
	}
	s, err := c.Session(t.Context(), "/jobs")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Ephemeral("job").Acquire(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestAHostWithoutTheOthersSaysWhatItLacks(t *testing.T) {
	h, err := Start(Options{Settings: newClusterSettings(t, "a", "b", "c")[0]})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	if err := h.WaitReady(within(t, 50*time.Millisecond)); !errors.Is(err, context.DeadlineExceeded) ||
		!strings.Contains(err.Error(), "waiting for b at ") {
		t.Errorf("it is ready: %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := h.Stop(ended); err != ErrStopTimeout {
		t.Errorf("stopped in no time: %v", err)
	}
}

func TestStartLeavesTheProcessAsItIs(t *testing.T) {
	mask := syscall.Umask(0o077)
	defer syscall.Umask(mask)
	logger := slog.Default()
	start(t, Options{Settings: newSettings(t)})
	if got := syscall.Umask(0o077); got != 0o077 {
		t.Errorf("the umask is %o", got)
	}
	if slog.Default() != logger {
		t.Error("there is another default logger")
	}
}
