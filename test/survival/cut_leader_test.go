//go:build linux

package survival_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/servertest/process"
)

var (
	cutTurns = flag.Int("cuts", 1, "how many leaders TestALeaderThatOnlyClientsReach cuts off, one after the other")
	cutTime  = flag.Duration("cut-time", 7*time.Second, "for how long it cuts each off")
)

// answersWithin is the time limit for every answer. readyWithin is the time limit for a host to be ready once reachable
// again, whatever it was partitioned from.
const (
	answersWithin = 3 * time.Second
	readyWithin   = 3 * time.Second
)

// ownNetwork is set in the process that runs a test in a separate network.
const ownNetwork = "SURVIVAL_OWN_NETWORK"

// inOwnNetwork runs a test, with flags, in a process with separate network devices, and reports whether this is that
// process.
func inOwnNetwork(t *testing.T, flags ...string) bool {
	t.Helper()
	if os.Getenv(ownNetwork) != "" {
		return true
	}
	cmd := exec.Command(os.Args[0], append([]string{"-test.run=^" + t.Name() + "$", "-test.v"}, flags...)...)
	cmd.Env = append(os.Environ(), ownNetwork+"=1", "SURVIVAL_PROGRAM="+program.Path)
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWNS}
	if uid, gid := os.Getuid(), os.Getgid(); uid != 0 {
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: uid, Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: gid, Size: 1}}
	}
	out, err := cmd.CombinedOutput()
	switch {
	case errors.Is(err, syscall.EPERM), errors.Is(err, syscall.ENOSYS), errors.Is(err, syscall.ENOSPC):
		t.Skipf("no process can have a network of its own here: %v", err)
	case strings.Contains(string(out), "--- SKIP"):
		t.Skipf("%s", out)
	case err != nil:
		t.Fatalf("%v\n%s", err, out)
	}
	t.Logf("%s", out)
	return false
}

// wiring is the networks of three hosts, each with one device in the hosts' network and one in the clients' network.
// Packets are lost as in a failing switch: TCP gets no notice.
type wiring struct{ t *testing.T }

// shell runs shell lines, and skips the test if the machine does not support them.
func (w wiring) shell(lines ...string) {
	w.t.Helper()
	if out, err := exec.Command("sh", "-ec", strings.Join(lines, "\n")).CombinedOutput(); err != nil {
		w.t.Skipf("networks cannot be made here: %v: %s", err, out)
	}
}

// start starts a host in each network, with the given number of data shards, and waits until all are ready.
func (w wiring) start(shards string, names ...string) (hosts []*host) {
	w.shell("mount -t tmpfs none /run", "mkdir /run/netns", "ip link set lo up",
		"ip link add hosts type bridge", "ip link set hosts up",
		"ip link add clients type bridge", "ip link set clients up", "ip addr add 10.78.0.254/24 dev clients")
	dir := w.t.TempDir()
	var list []string
	for i, name := range names {
		list = append(list, fmt.Sprintf("%s=10.77.0.%d:7421", name, i+1))
		w.shell("ip netns add "+name, "ip netns exec "+name+" ip link set lo up")
		for net, bridge := range []string{"hosts", "clients"} {
			w.shell(fmt.Sprintf("ip link add %s-%s type veth peer name to-%s netns %s", bridge, name, bridge, name),
				fmt.Sprintf("ip link set %s-%s master %s up", bridge, name, bridge),
				fmt.Sprintf("ip netns exec %s ip addr add 10.%d.0.%d/24 dev to-%s", name, 77+net, i+1, bridge),
				fmt.Sprintf("ip netns exec %s ip link set to-%s up", name, bridge))
		}
	}
	for i, name := range names {
		enter := filepath.Join(dir, "in-"+name)
		text := fmt.Sprintf("#!/bin/sh\nexec ip netns exec %s %s \"$@\"\n", name, program.Path)
		if err := os.WriteFile(enter, []byte(text), 0o755); err != nil {
			w.t.Fatal(err)
		}
		address := func(port int) string { return fmt.Sprintf("10.78.0.%d:%d", i+1, port) }
		at := &place{&process.Place{
			Program: process.Program{Path: enter, Env: []string{"PATH=" + os.Getenv("PATH")}},
			Name:    name, Dir: filepath.Join(dir, name),
			Client: address(7420), Admin: address(7422), HTTP: address(7424),
			Args: []string{"--name", name, "--initial-hosts", strings.Join(list, ","), "--shards", shards,
				"--insecure=all",
				"--raft-listen", fmt.Sprintf("10.77.0.%d:7421", i+1)},
		}}
		hosts = append(hosts, at.serve(w.t))
	}
	for _, h := range hosts {
		h.awaitReady()
	}
	return hosts
}

// cut drops all packets between the given places and the rest, until heal. Client packets still arrive.
func (w wiring) cut(all []*host, apart ...*place) (heal func()) {
	isolated := []string{"ip link add apart type bridge", "ip link set apart up"}
	joined := []string{"ip link del apart"}
	for _, h := range all {
		isolated = append(isolated, "ip link set clients-"+h.Place.Name+" type bridge_slave isolated on")
		joined = append(joined, "ip link set clients-"+h.Place.Name+" type bridge_slave isolated off")
	}
	for _, p := range apart {
		isolated = append(isolated, "ip link set hosts-"+p.Name+" master apart")
		joined = append(joined, "ip link set hosts-"+p.Name+" master hosts")
	}
	w.shell(isolated...)
	return func() { w.shell(joined...) }
}

// TestALeaderThatOnlyClientsReach: a leader reachable only by clients answers every request, and leads or follows again
// soon after the hosts are reconnected.
func TestALeaderThatOnlyClientsReach(t *testing.T) {
	if !inOwnNetwork(t, fmt.Sprintf("-cuts=%d", *cutTurns), fmt.Sprintf("-cut-time=%v", *cutTime)) {
		return
	}
	w := wiring{t}
	hosts := w.start("2", "a", "b", "c")
	newNode(t, hosts, "/cut", protocol.NodeConfig{})
	c, err := start(addresses(hosts), "/cut", time.Minute, newRecord(t))
	if err != nil {
		t.Fatal(err)
	}
	defer c.disconnect()
	if err := c.create("value", "0"); err != nil {
		t.Fatal(err)
	}
	for range *cutTurns {
		at := hosts[w.leading(hosts)]
		asked := newQuestions(t, at, c)
		asked.await("an answer to each") // requests in flight at the partition count as well
		heal := w.cut(hosts, &place{at.Place})
		time.Sleep(*cutTime)
		asked.await("an answer to each while the host is cut off")
		heal()
		healed := time.Now()
		if err := at.Await("it is ready", patience, func() bool {
			code, _ := at.Get("/health/ready")
			return code == http.StatusOK
		}); err != nil {
			t.Fatal(err)
		}
		ready := time.Since(healed)
		slowest := asked.stop()
		t.Logf("host %s was ready %v after the heal; the slowest answer: %s", at.Place.Name, ready, slowest)
		if ready > readyWithin {
			t.Errorf("host %s was ready %v after the heal", at.Place.Name, ready)
		}
	}
}

// leading is the place of the host that leads the most shards, once there is one.
func (w wiring) leading(hosts []*host) int {
	most, _ := byLed(w.t, hosts)
	return most
}

// questions are requests sent to one host repeatedly, each from its own goroutine.
type questions struct {
	t     *testing.T
	at    *host
	ended chan struct{}
	work  sync.WaitGroup

	mu       sync.Mutex // guards what follows
	answered map[string]int
	wrong    map[string]bool
	longest  time.Duration
	slowest  string
}

func newQuestions(t *testing.T, at *host, c *client) *questions {
	q := &questions{t: t, at: at, ended: make(chan struct{}), answered: make(map[string]int),
		wrong: make(map[string]bool)}
	const strict = protocol.ConsistencyStrict
	name, key := []byte("value"), make([]byte, 16)
	for _, m := range []func() protocol.RequestMessage{
		func() protocol.RequestMessage {
			return &protocol.SemaphoreUpdate{NodeID: c.node, Name: name, Data: []byte("1")}
		},
		func() protocol.RequestMessage {
			return &protocol.SemaphoreDescribe{NodeID: c.node, Name: name, Consistency: strict}
		},
		func() protocol.RequestMessage { return &protocol.SemaphoreDescribe{NodeID: c.node, Name: name} },
		func() protocol.RequestMessage {
			return &protocol.SemaphoreList{NodeID: c.node, ShardID: 1, Consistency: strict}
		},
		func() protocol.RequestMessage {
			return &protocol.SessionStart{Path: []byte("/cut"), TimeoutMillis: 2000, SessionSecret: key,
				AttachSequence: 1}
		},
		func() protocol.RequestMessage { return &protocol.SessionDescribe{SessionID: c.id} },
		func() protocol.RequestMessage { return &protocol.SessionBind{SessionID: c.id, SessionSecret: c.key} },
		func() protocol.RequestMessage { return &protocol.NodeCreate{Path: []byte("/other")} },
		func() protocol.RequestMessage { return &protocol.NodeDescribe{Path: []byte("/unknown")} },
		func() protocol.RequestMessage { return &protocol.NodeList{} },
		func() protocol.RequestMessage { return &protocol.AccessList{} },
		func() protocol.RequestMessage { return &protocol.ClusterDescribe{} },
		func() protocol.RequestMessage { return &protocol.ClusterWhy{} },
		func() protocol.RequestMessage { return &protocol.Watch{NodeID: c.node, Name: name} },
	} {
		q.ask(m().Kind().String(), func() (string, error) { return q.overProtocol(m()) })
	}
	for path, body := range map[string]string{
		"/v1/session/create": `{"node":"/cut","timeout_ms":3000}`,
		"/v1/config/put":     `{"node":"/cut","name":"config","value":"1"}`,
		"/v1/node?node=/cut": "", "/v1/nodes": "", "/v1/semaphore?node=/cut&name=value&strict=true": "",
	} {
		q.ask(path, func() (string, error) { return q.overHTTP(path, body) })
	}
	return q
}

// ask sends requests sequentially until the end.
func (q *questions) ask(what string, once func() (why string, err error)) {
	q.mu.Lock()
	q.answered[what] = 0
	q.mu.Unlock()
	q.work.Go(func() {
		for {
			sent := time.Now()
			why, err := once()
			q.note(what, why, time.Since(sent), err)
			select {
			case <-q.ended:
				return
			case <-time.After(20 * time.Millisecond):
			}
		}
	})
}

func (q *questions) note(what, why string, took time.Duration, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.answered[what]++
	if took > q.longest {
		q.longest, q.slowest = took, fmt.Sprintf("%s after %v: %s", what, took, why)
	}
	if (err != nil || took > answersWithin) && !q.wrong[what] {
		q.wrong[what] = true
		q.t.Errorf("%s was answered after %v: %s, %v", what, took, why, err)
	}
}

// overProtocol sends a request over a new connection.
func (q *questions) overProtocol(m protocol.RequestMessage) (why string, err error) {
	l, err := connect(q.at.Place.Client, nil)
	if err != nil {
		return "", err
	}
	defer l.close()
	a, err := l.call(m, patience)
	if err != nil {
		return "", err
	}
	r := &a.Result
	if r.Status == protocol.StatusUnavailable && len(r.Message) == 0 {
		return "", errors.New("UNAVAILABLE does not say why")
	}
	return fmt.Sprintf("%v %s", r.Status, r.Message), nil
}

// overHTTP calls the host's HTTP API, with a body for changes.
func (q *questions) overHTTP(path, body string) (why string, err error) {
	url := "http://" + q.at.Place.HTTP + path
	asker := http.Client{Timeout: patience, Transport: &http.Transport{DisableKeepAlives: true}}
	var answer *http.Response
	if body == "" {
		answer, err = asker.Get(url)
	} else {
		answer, err = asker.Post(url, "application/json", bytes.NewReader([]byte(body)))
	}
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if answer.StatusCode != http.StatusOK && answer.StatusCode != http.StatusServiceUnavailable {
		return "", fmt.Errorf("%s: %s", answer.Status, text)
	}
	return answer.Status + " " + string(text), err
}

// await waits until each question was answered once more.
func (q *questions) await(what string) {
	q.t.Helper()
	q.mu.Lock()
	before := make(map[string]int)
	for question, n := range q.answered {
		before[question] = n
	}
	q.mu.Unlock()
	q.at.await(what, func() bool {
		q.mu.Lock()
		defer q.mu.Unlock()
		for question, n := range before {
			if q.answered[question] <= n {
				return false
			}
		}
		return true
	})
}

// stop ends the questions, and returns the slowest answer.
func (q *questions) stop() string {
	close(q.ended)
	q.work.Wait()
	return q.slowest
}
