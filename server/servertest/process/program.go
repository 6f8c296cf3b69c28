package process

import (
	"fmt"
	"os/exec"
	"path/filepath"
)

// Program is a signalbox that can be run.
type Program struct {
	Path string
	// Env is the environment of its processes; empty rather than that of this one.
	Env []string
}

// Build builds the signalbox of this repository into a directory.
func Build(dir string) (Program, error) { return build(filepath.Join(dir, "signalbox")) }

// BuildPrevious builds one that is what it was before the newest feature level came, as far as a cluster can see.
func BuildPrevious(dir string) (Program, error) {
	return build(filepath.Join(dir, "signalbox-previous"), "-tags", "previouslevel")
}

func build(path string, flags ...string) (Program, error) {
	p := Program{Path: path}
	args := append([]string{"build", "-o", path}, flags...)
	out, err := exec.Command("go", append(args, "github.com/signalbox/signalbox/cmd/signalbox")...).CombinedOutput()
	if err != nil {
		return Program{}, fmt.Errorf("process: go build: %w\n%s", err, out)
	}
	return p, nil
}
