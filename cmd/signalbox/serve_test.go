package main

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
	"github.com/signalbox/signalbox/server/identity"
	"github.com/signalbox/signalbox/server/settings"
)

func TestAHostWithoutSettings(t *testing.T) {
	p := newPlace(t)
	s := p.serve(t)
	t.Logf("ready after %v", s.awaitReady())
	s.awaitLine(1)
	want := fmt.Sprintf("signalbox is ready: clients connect to %s; data in %s; health, metrics and status at "+
		"http://%s. Try next: curl http://%s/status\n",
		p.Client, p.Dir, p.Admin, p.Admin)
	if got := s.Output(); got != want {
		t.Errorf("it says %q\nwant    %q", got, want)
	}
	status := s.status()
	if !status.Ready || status.Host.Name != "signalbox" || status.Host.ID != 1 ||
		len(status.Shards) != 1+settings.DefaultShards || status.Cluster.ID == "" || status.Disk == nil {
		t.Errorf("status %+v", status)
	}
	for _, shard := range status.Shards {
		if !shard.Leads || shard.Leader != 1 || shard.Term == 0 {
			t.Errorf("shard %+v", shard)
		}
	}
	_, text := s.get("/metrics")
	for _, name := range []string{"signalbox_ready 1\n", `signalbox_shard_is_leader{shard="1"} 1`,
		"signalbox_disk_free_bytes ", "process_open_fds ", "signalbox_build_info{"} {
		if !strings.Contains(text, name) {
			t.Errorf("the metrics have no %s", name)
		}
	}
	if code, text := s.get("/debug/pprof/"); code != 404 {
		t.Errorf("the profiler is served though nobody wants it: %d %s", code, text)
	}
	checkMetrics(t, text)

	s.stop()
	again := p.serve(t)
	again.awaitReady()
	if got := again.status().Cluster.ID; got != status.Cluster.ID {
		t.Errorf("cluster %s became %s", status.Cluster.ID, got)
	}
	again.stop()
}

// checkMetrics checks that every line is a series with a value, and that series are unique.
func checkMetrics(t *testing.T, text string) {
	t.Helper()
	seen := make(map[string]bool)
	lines := bufio.NewScanner(strings.NewReader(text))
	for lines.Scan() {
		line := lines.Text()
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		at := strings.LastIndexByte(line, ' ')
		if at < 0 || seen[line[:at]] {
			t.Errorf("no series, or there twice: %q", line)
			continue
		}
		seen[line[:at]] = true
		var v float64
		if _, err := fmt.Sscan(line[at+1:], &v); err != nil {
			t.Errorf("no number: %q", line)
		}
	}
}

func TestAHostThatIsKilledStartsAgain(t *testing.T) {
	p := newPlace(t)
	s := p.serve(t)
	s.awaitReady()
	s.signal(syscall.SIGKILL)
	s.wait(patience)
	again := p.serve(t)
	again.awaitReady()
	again.stop()
}

func TestASecondProcessOnADirectoryIsRefused(t *testing.T) {
	p := newPlace(t)
	s := p.serve(t)
	s.awaitReady()
	other := newPlace(t)
	other.Dir = p.Dir
	other.refused(t, cli.ExitData,
		[]string{fmt.Sprintf("the data directory is in use by process %d; stop that process, or give this host "+
			"another --data-dir", s.PID())})
	// A second host with the same addresses reports the addresses in use as well.
	p.refused(t, cli.ExitData, []string{"in use by process", "--listen: ", "--admin-listen: "})
	if code, text := s.get("/health/ready"); code != 200 {
		t.Errorf("the first one: %d %s", code, text)
	}
	s.stop()
}

func TestATakenPortIsRefusedBeforeAnythingIsWritten(t *testing.T) {
	p := newPlace(t)
	for _, taken := range []struct{ setting, address string }{
		{"listen", p.Client}, {"admin-listen", p.Admin},
	} {
		l, err := net.Listen("tcp", taken.address)
		if err != nil {
			t.Fatal(err)
		}
		p.refused(t, cli.ExitUnavailable, []string{"--" + taken.setting + ": ", taken.address,
			"stop the process that uses the address, or choose another port"})
		l.Close()
	}
	if _, err := identity.Read(p.Dir); err == nil {
		t.Error("the directory has an identity")
	}
	one := newCluster(t, "a", "b", "c")[0]
	l, err := net.Listen("tcp", one.Raft)
	if err != nil {
		t.Fatal(err)
	}
	one.refused(t, cli.ExitUnavailable, []string{"--raft-listen: ", "stop the process that uses the address"})
	l.Close()
	s := p.serve(t)
	s.awaitReady()
	s.stop()
}

func TestAHostThatOthersCanReachIsMadeOnce(t *testing.T) {
	p := newPlace(t)
	p.Args = []string{"--raft-listen", p.Raft}
	p.refused(t, cli.ExitData, []string{p.Dir + " is empty, and other hosts can reach this host",
		"signalbox serve --join HOST:PORT --data-dir " + p.Dir + " --name signalbox", "signalbox init --data-dir " +
			"" + p.Dir +
			" --name signalbox --raft-listen " + p.Raft})
	made := []string{"init", "--data-dir", p.Dir, "--raft-listen", p.Raft, "--cluster-name", "prod", "--shards", "2"}
	code, out, errs := command(nil, made...)
	if code != cli.ExitDone || !strings.Contains(out, p.Dir+" is host signalbox of the new cluster prod-") {
		t.Fatalf("%v: code %d\n%s%s", made, code, out, errs)
	}
	if code, _, errs := command(nil, made...); code != cli.ExitExists || !strings.Contains(errs,
		p.Dir+" is host signalbox of cluster prod-") {
		t.Errorf("again: code %d\n%s", code, errs)
	}
	p.Args = append(p.Args, "--cluster-name", "prod")
	for range 2 {
		s := p.serve(t)
		s.awaitReady()
		if status := s.status(); len(status.Shards) != 3 || !strings.HasPrefix(status.Cluster.ID, "prod-") {
			t.Errorf("status %+v", status)
		}
		// Other machines may connect, now that an address is set.
		c, err := net.Dial("tcp", p.Raft)
		if err != nil {
			t.Fatal(err)
		}
		c.Close()
		s.stop()
	}
	if err := os.RemoveAll(p.Dir); err != nil {
		t.Fatal(err)
	}
	p.refused(t, cli.ExitData, []string{"is empty, and other hosts can reach this host"})
}

func TestInitIsForOneHost(t *testing.T) {
	one := newCluster(t, "a", "b", "c")[0]
	code, _, errs := command(nil, append([]string{"init", "--data-dir", one.Dir}, one.Args...)...)
	if code != cli.ExitUsage || !strings.Contains(errs, "start them with signalbox serve, without signalbox init") {
		t.Errorf("code %d\n%s", code, errs)
	}
	if _, err := identity.Read(one.Dir); err == nil {
		t.Error("the directory has an identity")
	}
}

func TestHostsShareASecret(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "raft-secret")
	write := func(text string) {
		if err := os.WriteFile(secret, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	places := newCluster(t, "a", "b", "c")
	write("too short\n")
	for _, p := range places {
		p.Args = append(p.Args, "--raft-secret-file", secret)
	}
	places[0].refused(t, cli.ExitUsage, []string{"--raft-secret-file: ",
		"has 9 bytes, but must have 16 to 4096; generate one with openssl rand -base64 32"})
	write("  " + strings.Repeat("secret", 5) + "\n")
	a, b, c := places[0].serve(t), places[1].serve(t), places[2].serve(t)
	for _, s := range []*hostProcess{a, b, c} {
		s.awaitReady()
	}
	c.stop()
	// A host with a different secret is rejected, and the members report the attempt.
	write(strings.Repeat("wrong", 5))
	c = places[2].serve(t)
	a.await("a refused handshake is counted", func() bool {
		_, text := a.get("/metrics")
		return strings.Contains(text, `signalbox_raft_messages_rejected_total{reason="handshake"}`) &&
			!strings.Contains(text, `signalbox_raft_messages_rejected_total{reason="handshake"} 0`)
	})
	if code, _ := c.get("/health/ready"); code == 200 {
		t.Error("a host with another secret is ready")
	}
	for _, s := range []*hostProcess{a, b, c} {
		s.stop()
	}
}

func TestADirectoryThatDoesNotFitIsRefused(t *testing.T) {
	p := newPlace(t, "--shards", "2")
	s := p.serve(t)
	s.awaitReady()
	if got := len(s.status().Shards); got != 3 {
		t.Errorf("%d shards", got)
	}
	s.stop()
	p.Args = nil
	p.refused(t, cli.ExitData,
		[]string{"the cluster was created with 2 shards, but --shards is 3; give --shards 2 or omit the setting"},
		"--shards", "3")
	p.refused(t, cli.ExitData, []string{"the directory belongs to host signalbox, but the host name is other; " +
		"give --name signalbox"},
		"--name", "other")

	if err := os.Rename(filepath.Join(p.Dir, identity.LogName), filepath.Join(p.Dir, "away")); err != nil {
		t.Fatal(err)
	}
	p.refused(t, cli.ExitData, []string{"the log in the data directory is missing"})
	if err := os.Rename(filepath.Join(p.Dir, "away"), filepath.Join(p.Dir, identity.LogName)); err != nil {
		t.Fatal(err)
	}
	s = p.serve(t)
	s.awaitReady()
	s.stop()

	foreign := newPlace(t)
	foreign.Dir = filepath.Dir(foreign.Dir)
	if err := os.WriteFile(filepath.Join(foreign.Dir, "thesis.doc"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	foreign.refused(t, cli.ExitData, []string{`the directory contains "thesis.doc"`})
	if err := os.WriteFile(filepath.Join(p.Dir, identity.FileName), []byte(`{"format": 99}`), 0o600); err != nil {
		t.Fatal(err)
	}
	p.refused(t, cli.ExitData, []string{"format 99 is newer than the supported format 3"})
}

func TestASecondSignalStopsAtOnce(t *testing.T) {
	endsAtOnce(t, signalTwice)
}

// endsAtOnce checks that the second interrupt ends a process. If the machine was busy and the process had already
// ended, endsAtOnce retries.
func endsAtOnce(t *testing.T, interruptTwice func(*testing.T) (code int)) {
	t.Helper()
	want := cli.ExitSignal + int(syscall.SIGINT)
	for attempt := 1; ; attempt++ {
		code := interruptTwice(t)
		if code == want {
			return
		}
		if code != cli.ExitDone || attempt == 5 {
			t.Fatalf("exit code %d, want %d", code, want)
		}
	}
}

func signalTwice(t *testing.T) (code int) {
	s := newPlace(t).serve(t)
	s.awaitReady()
	// A client that stays connected delays the host's shutdown.
	c, err := net.Dial("tcp", s.place.Client)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	s.await("the client is there", func() bool { return s.status().Connections.Open == 1 })
	s.signal(syscall.SIGTERM)
	s.signal(syscall.SIGTERM) // the same once more, as timeout sends it
	s.remarks("the host is stopping")
	s.await("its page says so, or is gone", func() bool {
		code, text := s.get("/health/ready")
		return code == 0 || code == 503 && strings.Contains(text, "the host is stopping")
	})
	return s.interruptAgain()
}

func TestAClientThatDoesNotGoHoldsAHostUpForASecond(t *testing.T) {
	s := newPlace(t).serve(t)
	s.awaitReady()
	c, err := net.Dial("tcp", s.place.Client)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	s.await("the client is there", func() bool { return s.status().Connections.Open == 1 })
	s.stop()
}

func TestThreeHostsMakeACluster(t *testing.T) {
	t.Parallel()
	places := newCluster(t, "a", "b", "c")
	var hosts []*hostProcess
	for _, p := range places {
		hosts = append(hosts, p.serve(t))
	}
	clusters := make(map[string]bool)
	for i, s := range hosts {
		t.Logf("host %d ready after %v", i+1, s.awaitReady())
		status := s.status()
		clusters[status.Cluster.ID] = true
		if status.Host.ID != uint64(i+1) || len(status.Cluster.Hosts) != 3 {
			t.Errorf("status %+v", status)
		}
	}
	if len(clusters) != 1 {
		t.Errorf("the hosts are of %d clusters: %v", len(clusters), clusters)
	}

	// Hosts restart in turn. The remaining hosts stay ready, except during elections.
	for i, s := range hosts {
		s.stop()
		for j, other := range hosts {
			if j == i {
				continue
			}
			other.await("the others lead all shards", func() bool {
				for _, shard := range other.status().Shards {
					if shard.Leader == 0 || shard.Leader == uint64(i+1) {
						return false
					}
				}
				return true
			})
			other.awaitReady()
		}
		hosts[i] = places[i].serve(t)
		hosts[i].awaitReady()
	}

	// All at once, and again.
	for _, s := range hosts {
		s.signal(syscall.SIGTERM)
	}
	for _, s := range hosts {
		if code := s.wait(patience); code != cli.ExitDone {
			t.Errorf("exit code %d", code)
		}
	}
	for i, p := range places {
		hosts[i] = p.serve(t)
	}
	for _, s := range hosts {
		s.awaitReady()
	}
}

func TestAHostAloneOfThreeIsNotReadyAndStopsAllTheSame(t *testing.T) {
	s := newCluster(t, "a", "b", "c")[0].serve(t)
	s.await("it answers", func() bool { code, _ := s.get("/health/live"); return code == 200 })
	s.await("it says what it lacks", func() bool {
		code, text := s.get("/health/ready")
		return code == 503 && strings.Contains(text, "waiting for b at ")
	})
	s.stop()
}

func TestHostsWithDifferentSettingsDoNotConnect(t *testing.T) {
	places := newCluster(t, "a", "b")
	hosts := []*hostProcess{places[0].serve(t), places[1].serve(t, "--shards", "2")}
	for _, s := range hosts {
		s.await("it says how they differ", func() bool {
			code, text := s.get("/health/ready")
			return code == 503 && strings.Contains(text, "--initial-hosts, "+
				"--cluster-name, --shards and --access-file")
		})
	}
	for _, s := range hosts {
		s.stop()
	}
}

// TestAHostServesWithoutAReaderOfItsErrors starts a host whose standard error is a full pipe without a reader.
func TestAHostServesWithoutAReaderOfItsErrors(t *testing.T) {
	p := newPlace(t)
	reader, full, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	defer full.Close()
	for room := make([]byte, 4096); err == nil; {
		_ = full.SetWriteDeadline(time.Now().Add(100 * time.Millisecond))
		_, err = full.Write(room)
	}
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatal(err)
	}
	command := func(args ...string) *exec.Cmd {
		c := exec.Command(program().Path, args...)
		c.Env = append(os.Environ(), program().Env...)
		return c
	}
	serve := command("serve", "--data-dir", p.Dir, "--listen", p.Client, "--admin-listen", p.Admin,
		"--http-listen", "off")
	serve.Stderr = full
	host := launch(t, serve)
	host.awaitLine(1) // it is ready
	node := launch(t, command("node", "create", "/jobs", "--endpoints", p.Client))
	if code := node.wait(patience); code != 0 {
		t.Errorf("a client ended with %d", code)
	}
	host.signal(syscall.SIGTERM)
	if code := host.wait(patience); code != 0 {
		t.Errorf("the host ended with %d", code)
	}
}
