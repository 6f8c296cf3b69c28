package race

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/signalbox/signalbox/bench/internal/etcd"
)

// Module is the path of the bench module.
const Module = "github.com/signalbox/signalbox/bench"

// Programs are the program paths for a race. An empty path means build from source.
type Programs struct {
	Signalbox string
	Loadgen   string
	Etcd      string
}

// Build builds missing programs into dir. source is the bench module directory, whose go.mod has all versions. flags
// are flags for go build.
func (p Programs) Build(ctx context.Context, source, dir string, flags []string,
	wanted func(contestant string) bool) (Programs, error) {
	steps := []struct {
		path          *string
		name, in, pkg string
		contestant    string
	}{
		{&p.Signalbox, "signalbox", filepath.Dir(source), "./cmd/signalbox", "signalbox"},
		{&p.Loadgen, "loadgen", filepath.Dir(source), "./cmd/loadgen", "signalbox"},
		{&p.Etcd, "etcd", source, etcd.Module, "etcd"},
	}
	for _, s := range steps {
		if *s.path != "" || !wanted(s.contestant) {
			continue
		}
		*s.path = filepath.Join(dir, s.name)
		args := slices.Concat([]string{"build"}, flags, []string{"-o", *s.path, s.pkg})
		build := exec.CommandContext(ctx, "go", args...)
		build.Dir = s.in
		if said, err := build.CombinedOutput(); err != nil {
			return p, fmt.Errorf("build %s: %w\n%s", s.name, err, said)
		}
	}
	return p, nil
}

// Source finds the bench module directory: the working directory, or its subdirectory bench.
func Source() (string, error) {
	for _, dir := range []string{".", "bench"} {
		text, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && strings.Contains(string(text), "\nmodule "+Module+"\n") {
			return filepath.Abs(dir)
		}
	}
	return "", fmt.Errorf("this is neither the directory bench of Signalbox's source nor the one above it, " +
		"and what a race runs is built from there; go there, or name all programs with flags")
}

// FirstLine returns a program's first output line, or the reason for its failure.
func FirstLine(ctx context.Context, dir string, command ...string) string {
	c := exec.CommandContext(ctx, command[0], command[1:]...)
	c.Dir = dir
	printed, err := c.Output()
	if err != nil {
		return err.Error()
	}
	line, _, _ := strings.Cut(strings.TrimSpace(string(printed)), "\n")
	return line
}
