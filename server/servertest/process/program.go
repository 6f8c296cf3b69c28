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
func Build(dir string) (Program, error) {
	p := Program{Path: filepath.Join(dir, "signalbox")}
	out, err := exec.Command("go", "build", "-o", p.Path, "github.com/signalbox/signalbox/cmd/signalbox").CombinedOutput()
	if err != nil {
		return Program{}, fmt.Errorf("process: go build: %w\n%s", err, out)
	}
	return p, nil
}
