package identity

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// holdVariable makes the test binary claim the named directory until its standard input ends.
const holdVariable = "SIGNALBOX_TEST_HOLD"

func TestMain(m *testing.M) {
	if dir := os.Getenv(holdVariable); dir != "" {
		if _, err := Claim(dir); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println("claimed")
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func TestASecondProcessIsKeptOutUntilTheFirstHasEnded(t *testing.T) {
	dir := t.TempDir()
	mustLoad(t, dir, alone())
	child := exec.Command(os.Args[0], "-test.run=^$")
	child.Env = append(os.Environ(), holdVariable+"="+dir)
	if _, err := child.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	defer child.Process.Kill()
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "claimed\n" {
		t.Fatalf("the other process says %q, %v", line, err)
	}

	_, err = Claim(dir)
	want := fmt.Sprintf("%s: the data directory is in use by process %d; stop that process, or give this host "+
		"another --data-dir", dir, child.Process.Pid)
	if !errors.Is(err, ErrInUse) || !strings.Contains(err.Error(), want) {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	if _, err := Read(dir); err != nil {
		t.Errorf("it cannot be looked at meanwhile: %v", err)
	}

	// However the holder ends, no manual cleanup is needed.
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = child.Wait()
	claimSoon(t, dir).Release()
}

// claimSoon claims a directory whose holder has just been killed.
func claimSoon(t *testing.T, dir string) *Directory {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for {
		d, err := Claim(dir)
		if err == nil {
			return d
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
		time.Sleep(time.Millisecond)
	}
}

func TestTwoHostsOfOneProcessAreKeptApart(t *testing.T) {
	dir := t.TempDir()
	first := claim(t, dir)
	if _, err := Claim(dir); !errors.Is(err, ErrInUse) {
		t.Errorf("got %v", err)
	}
	first.Release()
	claim(t, dir)
}
