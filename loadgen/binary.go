package loadgen

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
)

const (
	module  = "github.com/signalbox/signalbox"
	program = "signalbox"
)

// findBinary returns the program of a host: the one that is given, one that is built from the module that
// this process runs in, or one from the PATH. What is built goes to the directory.
func findBinary(ctx context.Context, given, dir string) (string, error) {
	if given != "" {
		return exec.LookPath(given)
	}
	root, inModule := moduleRoot(ctx)
	if !inModule {
		found, err := exec.LookPath(program)
		if err != nil {
			return "", fmt.Errorf("%w; name the program with --binary, run this inside the module %s, "+
				"or name a cluster that runs with --endpoints", err, module)
		}
		return found, nil
	}
	built := filepath.Join(dir, program)
	build := exec.CommandContext(ctx, "go", "build", "-o", built, "./cmd/"+program)
	build.Dir = root
	var says bytes.Buffer
	build.Stdout, build.Stderr = &says, &says
	if err := build.Run(); err != nil {
		return "", fmt.Errorf("build %s: %w: %s", program, err, strings.TrimSpace(says.String()))
	}
	return built, nil
}

// moduleRoot returns the directory of the module, if the process runs inside it and there is a Go toolchain.
func moduleRoot(ctx context.Context) (string, bool) {
	out, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Path}}\t{{.Dir}}").Output()
	if err != nil {
		return "", false
	}
	path, dir, ok := strings.Cut(strings.TrimSpace(string(out)), "\t")
	return dir, ok && path == module
}
