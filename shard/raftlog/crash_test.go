package raftlog

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/signalbox/signalbox/shard"
)

// crashRole is the environment variable that turns this test binary into a crashing process. The value selects the
// process.
const crashRole = "RAFTLOG_CRASH_ROLE"

func TestMain(m *testing.M) {
	switch os.Getenv(crashRole) {
	case "refuse":
		crashByRefusing()
	case "propose":
		crashWhileProposing("")
	case "act":
		actUntilKilled()
	case "fill":
		crashWhileProposing(padding)
	default:
		os.Exit(m.Run())
	}
}

// crashingHost opens a single host in the directory given as first argument.
func crashingHost(machine *recorder) shard.Log {
	config := Config{
		Host: 1, Incarnation: incarnationOf(1), DataDir: os.Args[1],
		SnapshotBytes: 50 * BatchBytes, KeepBytes: 10 * BatchBytes,
	}
	host, err := Open(config)
	if err == nil {
		var log shard.Log
		if log, err = host.Start(testShard, machine); err == nil {
			return log
		}
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(3)
	return nil
}

func proposeTo(log shard.Log, batch string) shard.Outcome {
	for {
		if o, err := offer(log, batch); err == nil {
			return o
		}
	}
}

// offer proposes a batch once; the error is the error from a log that accepts none.
func offer(log shard.Log, batch string) (shard.Outcome, error) {
	outcome := make(chan shard.Outcome, 1)
	if err := log.Propose([]byte(batch), func(o shard.Outcome) { outcome <- o }); err != nil {
		return 0, err
	}
	return <-outcome, nil
}

func crashByRefusing() {
	machine := newRecorder()
	machine.refuse = "poison"
	log := crashingHost(machine)
	for proposeTo(log, "good") != shard.OutcomeApplied {
	}
	proposeTo(log, "poison")
	fmt.Println("survived")
	os.Exit(0)
}

// padding makes batches long enough for the log to need many files soon.
var padding = strings.Repeat("-", 64<<10)

// crashWhileProposing prints every applied batch's number, until killed.
func crashWhileProposing(padding string) {
	machine := newRecorder()
	log := crashingHost(machine)
	for i := 0; ; {
		if proposeTo(log, fmt.Sprint(i)+padding) == shard.OutcomeApplied {
			fmt.Println(i)
			i++
		}
	}
}

func crash(t *testing.T, role, dir string) *exec.Cmd {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, dir)
	cmd.Env = append(os.Environ(), crashRole+"="+role)
	return cmd
}

func TestAReplicaThatCannotApplyStopsTheProcess(t *testing.T) {
	cmd := crash(t, "refuse", filepath.Join(t.TempDir(), "host"))
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err == nil {
		t.Errorf("the process went on: %s", out.String())
	}
	for _, want := range []string{"this replica cannot go on", "the recorder must refuse this batch", "panic"} {
		if !strings.Contains(said.String(), want) {
			t.Errorf("%q is not in what the process said:\n%s", want, said.String())
		}
	}
}

func TestWhatIsAcknowledgedSurvivesAKill(t *testing.T) {
	with := 0 // batches since a snapshot appeared, which is recorded soon after
	one := survivor(t, "propose", "", func(dir string) bool {
		if found, _ := filepath.Glob(filepath.Join(dir, "*", "*", "snapshot-part-*", "snapshot-*-*",
			"snapshot-????????????????")); len(found) > 0 {
			with++
		}
		return with > 20
	})
	if one.machine.restores != 1 {
		t.Errorf("restored %d times, want once", one.machine.restores)
	}
}

func TestWhatIsAcknowledgedSurvivesAKillInALaterSegment(t *testing.T) {
	survivor(t, "fill", padding, func(dir string) bool {
		segments, err := filepath.Glob(filepath.Join(dir, "*", "*", "log", "*.wal"))
		if err != nil {
			t.Fatal(err)
		}
		newest := slices.Max(append(segments, "")) // their names are numbers
		return filepath.Base(newest) >= "000000000003.wal"
	})
}

// survivor kills a process after at least 200 batches, and when its directory content is sufficient, and starts a host
// on the remains.
func survivor(t *testing.T, role, padding string, enough func(dir string) bool) *member {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "host")
	cmd := crash(t, role, dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	acknowledged := 0
	for acknowledged < 200 || !enough(dir) {
		if _, err := lines.ReadString('\n'); err != nil {
			t.Fatalf("%v: %s", err, said.String())
		}
		acknowledged++
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	rest, _ := io.ReadAll(lines)
	acknowledged += bytes.Count(rest, []byte{'\n'})
	cmd.Wait()

	one := newCluster(t, 1, fewEntries)[0]
	one.config.DataDir = dir
	one.config.Deployment = 0
	one.open()
	one.machine.await(t, "what was acknowledged", func() bool { return len(one.machine.batches) >= acknowledged })
	for i, batch := range one.machine.applied() {
		if batch != fmt.Sprint(i)+padding {
			t.Fatalf("batch %d is %.20q", i, batch)
		}
	}
	return one
}
