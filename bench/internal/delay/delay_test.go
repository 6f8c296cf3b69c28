package delay

import (
	"context"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// TestLinksDelayBothDirections: an answer comes no earlier than after both delays, and messages keep their order.
func TestLinksDelayBothDirections(t *testing.T) {
	host, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer host.Close()
	go func() {
		for {
			conn, err := host.Accept()
			if err != nil {
				return
			}
			go func() { _, _ = io.Copy(conn, conn) }()
		}
	}()
	const each = 20 * time.Millisecond
	links, err := Link([]string{host.Addr().String()}, each)
	if err != nil {
		t.Fatal(err)
	}
	defer links.Close()
	conn, err := net.Dial("tcp", links.Addresses[0])
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	began := time.Now()
	for i := range byte(200) {
		if _, err := conn.Write([]byte{i}); err != nil {
			t.Fatal(err)
		}
	}
	back := make([]byte, 200)
	if _, err := io.ReadFull(conn, back); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took < 2*each {
		t.Errorf("200 messages were back after %v", took)
	}
	for i, b := range back {
		if b != byte(i) {
			t.Fatalf("message %d came as %d", b, i)
		}
	}
}

func TestLinksWithoutADelayAreTheHosts(t *testing.T) {
	links, err := Link([]string{"host:1"}, 0)
	if err != nil || links.Addresses[0] != "host:1" {
		t.Fatal(links, err)
	}
	links.Close()
}

// syncer is a program that syncs a file, and prints the sync time.
const syncer = `package main

import (
	"fmt"
	"os"
	"time"
)

func main() {
	f, _ := os.CreateTemp("", "")
	began := time.Now()
	_ = f.Sync()
	fmt.Print(time.Since(began).Microseconds())
	os.Remove(f.Name())
}
`

// TestSyncsAreDelayed: in a Go program, and in a program that uses the C library.
func TestSyncsAreDelayed(t *testing.T) {
	if _, err := exec.LookPath("cc"); err != nil {
		t.Skip("no C compiler")
	}
	t.Setenv(variable, "")
	t.Setenv("LD_PRELOAD", "")
	dir := t.TempDir()
	flags, err := Syncs(context.Background(), dir, 300*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	source, program := filepath.Join(dir, "syncer.go"), filepath.Join(dir, "syncer")
	if err := os.WriteFile(source, []byte(syncer), 0o644); err != nil {
		t.Fatal(err)
	}
	build := exec.Command("go", append(append([]string{"build"}, flags...), "-o", program, source)...)
	if said, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	for name, command := range map[string]*exec.Cmd{
		"Go": exec.Command(program),
		"C":  exec.Command("dd", "if=/dev/zero", "of="+filepath.Join(dir, "out"), "bs=1", "count=1", "conv=fsync"),
	} {
		began := time.Now()
		if said, err := command.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", name, err, said)
		}
		if took := time.Since(began); took < 300*time.Millisecond {
			t.Errorf("a program in %s that syncs took %v", name, took)
		}
	}
}
