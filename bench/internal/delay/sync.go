package delay

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// variable is the environment variable with the sync delay, in microseconds.
const variable = "BENCH_SYNC_DELAY_US"

// goSource delays syncs in Go programs. The code first resets the thread's timer slack, because "signalbox serve" sets
// 1 ms.
//
//go:embed sync.go.txt
var goSource string

// cSource delays syncs in programs that use the C library.
//
//go:embed sync.c.txt
var cSource string

// Environment returns the environment for a child process with this process's sync delay.
func Environment() []string {
	if v, ok := os.LookupEnv(variable); ok {
		return []string{variable + "=" + v}
	}
	return nil
}

// Syncs delays syncs in later child processes: in Go programs built with the returned flags, and in programs that use
// the C library. Syncs writes files into dir, which must stay.
func Syncs(ctx context.Context, dir string, by time.Duration) (buildFlags []string, err error) {
	if err := os.Setenv(variable, fmt.Sprint(by.Microseconds())); err != nil {
		return nil, err
	}
	overlay, err := writeOverlay(ctx, dir)
	if err != nil {
		return nil, fmt.Errorf("delay the syncs of Go programs: %w", err)
	}
	source, library := filepath.Join(dir, "sync.c"), filepath.Join(dir, "sync.so")
	if err := os.WriteFile(source, []byte(cSource), 0o644); err != nil {
		return nil, err
	}
	build := exec.CommandContext(ctx, "cc", "-shared", "-fPIC", "-O2", "-o", library, source, "-ldl")
	if said, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("delay the syncs of programs in C and Java (it needs a C compiler): %w\n%s", err, said)
	}
	return []string{"-overlay", overlay}, os.Setenv("LD_PRELOAD", library)
}

// writeOverlay writes a copy of a Go library file with delayed syncs.
func writeOverlay(ctx context.Context, dir string) (overlay string, err error) {
	root, err := exec.CommandContext(ctx, "go", "env", "GOROOT").Output()
	if err != nil {
		return "", err
	}
	original := filepath.Join(strings.TrimSpace(string(root)), "src", "syscall",
		"zsyscall_"+runtime.GOOS+"_"+runtime.GOARCH+".go")
	text, err := os.ReadFile(original)
	if err != nil {
		return "", err
	}
	delayed := string(text)
	for _, name := range []string{"Fsync", "Fdatasync"} {
		head := "func " + name + "(fd int) (err error) {"
		if !strings.Contains(delayed, head) {
			return "", fmt.Errorf("%s has no %s", original, name)
		}
		delayed = strings.Replace(delayed, head, head+"\n\tdelaySync()", 1)
	}
	copied := filepath.Join(dir, "zsyscall.go")
	if err := os.WriteFile(copied, []byte(delayed+goSource), 0o644); err != nil {
		return "", err
	}
	replace, err := json.Marshal(map[string]any{"Replace": map[string]string{original: copied}})
	if err != nil {
		return "", err
	}
	overlay = filepath.Join(dir, "overlay.json")
	return overlay, os.WriteFile(overlay, replace, 0o644)
}
