package deploy_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/admin"
	"github.com/signalbox/signalbox/client/process"
	"github.com/signalbox/signalbox/client/rollout"
	"github.com/signalbox/signalbox/internal/subprocess"
)

var shown struct {
	once sync.Once
	text string
	err  string
}

// metrics returns the metrics that a real host serves at /metrics after mixed load. All tests share one host.
func metrics(t *testing.T) series {
	t.Helper()
	if testing.Short() {
		t.Skip("it starts a process")
	}
	shown.once.Do(func() {
		shown.err = "the host did not get far enough"
		shown.text = loadedHost(t)
		shown.err = ""
	})
	if shown.err != "" {
		t.Fatal(shown.err)
	}
	s, err := parseSeries(shown.text)
	if err != nil {
		t.Fatal(err)
	}
	return s.scraped()
}

// loadedHost runs a host as a process and sends load, restarts the host so that it loads a snapshot, sends more load,
// and returns the metrics page.
func loadedHost(t *testing.T) string {
	program := filepath.Join(t.TempDir(), "signalbox")
	if out, err := exec.Command("go", "build", "-o", program,
		"github.com/signalbox/signalbox/cmd/signalbox").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	ports, err := subprocess.ReservePorts(6)
	if err != nil {
		t.Fatal(err)
	}
	defer ports.Close()
	addresses := ports.Addresses
	nobody := addresses[4] // no process listens there
	cert, key := selfSigned(t)
	arguments := []string{"serve", "--data-dir", filepath.Join(t.TempDir(), "data"), "--raft-metrics",
		"--raft-snapshot-bytes", "64KiB", "--shards", "2",
		"--listen", addresses[0], "--raft-listen", addresses[1], "--admin-listen", addresses[2],
		"--http-listen", addresses[5],
		"--advertise", addresses[0], "--tls-listen", addresses[3], "--tls-cert", cert, "--tls-key", key,
		"--raft-tls-cert", cert, "--raft-tls-key", key, "--raft-tls-ca", cert}
	// A host that others can join is bootstrapped once.
	if out, err := exec.Command(program, append([]string{"init"}, arguments[1:]...)...).CombinedOutput(); err != nil {
		t.Fatalf("signalbox init: %v\n%s", err, out)
	}
	page := "http://" + addresses[2] + "/metrics"
	run(t, program, arguments, func() { saveSnapshot(t, addresses[0], page) })
	var text string
	run(t, program, arguments, func() {
		use(t, addresses[0])
		awaitGovernor(t, addresses[0])
		moveSlot(t, addresses[0]) // before a host is away
		healthy(t, program, addresses[0], nobody)
		saveSnapshot(t, addresses[0], page)
		awaitGovernor(t, addresses[0])
		text = get(t, page)
	})
	return text
}

// run runs a host while do runs.
func run(t *testing.T, program string, arguments []string, do func()) {
	t.Helper()
	cmd := exec.Command(program, arguments...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdout, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("%s", stderr.String())
		}
	}()
	// The host prints one line when it is ready, and its standard output ends with the process.
	if line, err := bufio.NewReader(stdout).ReadString('\n'); err != nil || !strings.Contains(line, "ready") {
		t.Fatalf("the host is not ready: %q, %v", line, err)
	}
	do()
}

// get returns a page.
func get(t *testing.T, page string) string {
	t.Helper()
	response, err := http.Get(page)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// open returns a client of the host.
func open(t *testing.T, address string) *client.Client {
	t.Helper()
	c, err := client.Open(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// awaitGovernor waits until the host governs its cluster.
func awaitGovernor(t *testing.T, address string) {
	t.Helper()
	ctx, c := t.Context(), open(t, address)
	defer c.Close()
	for {
		switch shown, err := admin.New(c).Describe(ctx); {
		case err == nil && shown.Observed && len(shown.Shards) > 1:
			return
		case err != nil && !errors.Is(err, client.ErrPreconditionFailed): // before the hosts have records
			t.Fatal(err)
		}
	}
}

// moveSlot moves a slot from the first shard to the last.
func moveSlot(t *testing.T, address string) {
	t.Helper()
	ctx, c := t.Context(), open(t, address)
	defer c.Close()
	a := admin.New(c)
	shown, err := a.Describe(ctx)
	if err != nil {
		t.Fatal(err)
	}
	last := uint64(shown.Shards[len(shown.Shards)-1].ID)
	if _, err := a.MoveSlot(ctx, 0, last, false, admin.ChangeInfo{}); err != nil {
		t.Fatal(err)
	}
	for late := time.Now().Add(time.Minute); time.Now().Before(late); time.Sleep(10 * time.Millisecond) {
		s, err := a.Slots(ctx, last)
		if err != nil {
			t.Fatal(err)
		}
		if len(s.Moves) == 0 && s.Ranges[0].First == 0 {
			return
		}
	}
	t.Fatal("the slot does not move")
}

// saveSnapshot writes data until the host's metrics count a snapshot saved since the start.
func saveSnapshot(t *testing.T, address, page string) {
	t.Helper()
	ctx, c := t.Context(), open(t, address)
	defer c.Close()
	node := c.Node("/prod/busy")
	if _, err := c.CreateNode(ctx, node.Path(), client.NodeConfig{}); err != nil &&
		!errors.Is(err, client.ErrAlreadyExists) {
		t.Fatal(err)
	}
	if err := node.Create(ctx, "changes", 1, nil); err != nil && !errors.Is(err, client.ErrAlreadyExists) {
		t.Fatal(err)
	}
	none := func(page string) bool {
		return strings.Contains(page, "signalbox_snapshots_saved_total{shard=\"1\"} 0\n") &&
			strings.Contains(page, "signalbox_snapshots_saved_total{shard=\"2\"} 0\n")
	}
	for changed := 0; none(get(t, page)); {
		for range 25 {
			changed++
			if err := node.Update(ctx, "changes", []byte(strconv.Itoa(changed))); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// healthy runs the image's health check, for a running host and for a missing one.
func healthy(t *testing.T, program, address, nobody string) {
	t.Helper()
	text, err := os.ReadFile("Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	_, check, _ := strings.Cut(string(text), "\nHEALTHCHECK ")
	_, check, ok := strings.Cut(check, "CMD ")
	check, _, _ = strings.Cut(check, "\n")
	var command []string
	if err := json.Unmarshal([]byte(check), &command); err != nil || !ok || command[0] != "signalbox" {
		t.Fatalf("the health check of the image is %q: %v", check, err)
	}
	at := slices.Index(command, "127.0.0.1:7420")
	if at < 0 {
		t.Fatalf("the health check does not ask this host: %q", command)
	}
	run := func(address string) ([]byte, error) {
		command[at] = address
		c := exec.Command(program, command[1:]...)
		c.Env = []string{"PATH=/usr/local/bin"} // as in the container
		return c.CombinedOutput()
	}
	if out, err := run(address); err != nil {
		t.Errorf("the health check of a host that is well: %v\n%s", err, out)
	}
	if out, err := run(nobody); err == nil {
		t.Errorf("the health check of a host that is not there succeeds:\n%s", out)
	}
}

// use makes a host count sessions, owners, waiters, watches, and refused requests.
func use(t *testing.T, address string) {
	ctx := t.Context()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	c, err := client.Open(ctx, address)
	must(err)
	t.Cleanup(func() { _ = c.Close() })
	_, err = c.CreateNode(ctx, "/prod/jobs", client.NodeConfig{MetricsLevel: client.Detailed})
	must(err)
	first, err := c.Session(ctx, "/prod/jobs")
	must(err)
	second, err := c.Session(ctx, "/prod/jobs")
	must(err)

	lease, err := first.Semaphore("nightly", client.Limit(1)).Acquire(ctx)
	must(err)
	queued := make(chan uint64, 1)
	granted := make(chan error, 1)
	go func() {
		_, err := second.Semaphore("nightly").Acquire(ctx, client.OnQueued(func(order uint64) { queued <- order }))
		granted <- err
	}()
	select {
	case <-queued:
	case err := <-granted:
		t.Fatalf("the second acquire did not wait: %v", err)
	}
	for view, err := range c.Node("/prod/jobs").Watch(ctx, "nightly") {
		must(err)
		if view.Len() == 1 {
			break
		}
	}
	must(lease.Release(ctx))
	must(<-granted)

	_, err = second.Semaphore("nightly").Describe(ctx, client.OnChanged(func(_, _ bool) {}))
	must(err)
	if _, err := c.Node("/prod/jobs").Describe(ctx, "missing"); err == nil {
		t.Fatal("what does not exist was described")
	}
	_, err = c.CreateNode(ctx, "/prod/full", client.NodeConfig{QuotaObjects: 1})
	must(err)
	must(c.Node("/prod/full").Create(ctx, "only", 1, nil))
	_, err = c.Status(ctx)
	must(err)
	useRollouts(t, ctx, c, second)
	useProcesses(t, ctx, c, second)
	must(first.Close(ctx))
}

// useRollouts leaves a rollout that waits for instances, and stuck, halted and paused rollouts.
func useRollouts(t *testing.T, ctx context.Context, c *client.Client, s *client.Session) {
	t.Helper()
	for _, name := range []string{"waits", "stuck", "halted", "paused"} {
		r := rollout.New(c, "/prod/jobs", name)
		spec := rollout.Spec{Locations: []rollout.Location{{Name: "sas"}}, ProgressDeadline: time.Millisecond}
		err := r.Create(ctx, spec, rollout.ChangeInfo{Author: "test"})
		if err == nil {
			_, err = r.Publish(ctx, []byte("one"))
		}
		if err == nil && name == "stuck" {
			_, err = rollout.Join(ctx, s, name, rollout.Instance{Name: "a", Location: "sas"})
		}
		if err == nil && name == "halted" {
			err = r.Abort(ctx, rollout.ChangeInfo{Author: "test"})
		}
		if err == nil && name == "paused" {
			err = r.Pause(ctx, rollout.ChangeInfo{Author: "test"})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	isStuck := func(r rollout.BlockReason) bool { return r.Code == rollout.ReasonStuck }
	for {
		reasons, err := rollout.New(c, "/prod/jobs", "stuck").Why(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if slices.ContainsFunc(reasons, isStuck) {
			return
		}
	}
}

// useProcesses leaves processes whose rounds are stalled for every possible reason. A request was refused.
func useProcesses(t *testing.T, ctx context.Context, c *client.Client, s *client.Session) {
	t.Helper()
	never := func(ctx context.Context) error {
		<-ctx.Done()
		return ctx.Err()
	}
	silent := process.Handler{
		Coordinate: func(ctx context.Context, r *process.Round) (any, error) { return r.Broadcast(ctx, "anyone?") },
		Request: func(ctx context.Context, _ *process.Round, _ *process.Request) (any, error) {
			return nil, never(ctx)
		},
	}
	unprepared := process.Handler{
		Prepare:    func(ctx context.Context, _ *process.Round) error { return never(ctx) },
		Coordinate: silent.Coordinate,
	}
	for _, x := range []struct {
		reason string // also the name of the process
		spec   process.Spec
		process.Handler
	}{
		{process.ReasonFewMembers, process.Spec{MinMembers: 2}, silent},
		{process.ReasonNoCandidate, process.Spec{}, process.Handler{}},
		{process.ReasonPrepare, process.Spec{}, unprepared},
		{process.ReasonReply, process.Spec{}, silent},
		{process.ReasonComplete, process.Spec{}, process.Handler{
			Coordinate: func(ctx context.Context, r *process.Round) (any, error) {
				_, err := r.Send(ctx, 1<<40, "to nobody")
				if err == nil {
					err = errors.New("a request to nobody was sent")
				}
				return err.Error(), nil
			},
			Complete: func(ctx context.Context, _ *process.Round, _ *process.Result) { _ = never(ctx) },
		}},
		{"late", process.Spec{ReplyTimeout: time.Millisecond}, unprepared},
	} {
		if _, err := process.Join(ctx, s, x.reason, x.Handler, process.Create(x.spec)); err != nil {
			t.Fatal(err)
		}
		stands := func(r process.BlockReason) bool {
			return r.Code == x.reason && (r.Blocked || r.Since.Ago > time.Second) || r.Late
		}
		for {
			reasons, err := process.New(c, "/prod/jobs", x.reason).Why(ctx)
			if err != nil {
				t.Fatal(err)
			}
			if slices.ContainsFunc(reasons, stands) {
				break
			}
		}
	}
}
