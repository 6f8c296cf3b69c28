package main

import (
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// build is a product, compiled for a system.
type build struct {
	os, arch string
	binary   []byte
	info     *buildinfo.BuildInfo
	shared   *shared
}

// shared holds data common to a product's builds for all systems.
type shared struct {
	licences    []byte // for all modules in the program
	completions []item // by shell name
	newestLevel int    // the highest feature level for the program; 0: the product has no levels
}

// build compiles a product for every system in the job.
func (j *job) build(p *product) (list []build, err error) {
	s, err := j.shared(p)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p.name, err)
	}
	for _, platform := range j.platforms {
		system, arch, _ := strings.Cut(platform, "/")
		path, err := j.compile(p, system, arch)
		if err != nil {
			return nil, err
		}
		b := build{os: system, arch: arch, shared: s}
		if b.binary, err = os.ReadFile(path); err == nil {
			b.info, err = buildinfo.ReadFile(path)
		}
		if err != nil {
			return nil, err
		}
		list = append(list, b)
	}
	return list, nil
}

// compile builds a product for a system. From the environment only the Go version matters: paths are trimmed, the
// clone's state is not stamped, and version, commit and date come from the job.
func (j *job) compile(p *product, system, arch string) (path string, err error) {
	path = filepath.Join(j.work, p.name+"-"+system+"-"+arch)
	cmd := j.goTool(p, "build", "-trimpath", "-buildvcs=false", "-ldflags",
		fmt.Sprintf("-s -w -X main.version=v%s -X main.commit=%s -X main.date=%s", j.version.number, j.version.commit,
			j.version.stamp()),
		"-o", path, p.pkg)
	cmd.Env = append(cmd.Env, "GOOS="+system, "GOARCH="+arch)
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("compile %s for %s/%s: %w\n%s", p.name, system, arch, err, out)
	}
	return path, nil
}

// goTool returns a Go tool command in a product's module. Caller variables such as GOFLAGS or GOAMD64 would change the
// binaries, so fixed values replace them.
func (j *job) goTool(p *product, args ...string) *exec.Cmd {
	cmd := exec.Command("go", args...)
	cmd.Dir = filepath.Join(j.root, p.module)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-mod=readonly", "GOWORK=off", "GOAMD64=v1", "GOARM64=v8.0",
		"GOEXPERIMENT=")
	return cmd
}

// shared generates files for all systems by running the product on this machine: completions, and the newest feature
// level, which lets packages reject data from a newer version.
func (j *job) shared(p *product) (*shared, error) {
	s := new(shared)
	var err error
	if s.licences, err = j.licences(p); err != nil || !p.completions {
		return s, err
	}
	program, err := j.compile(p, runtime.GOOS, runtime.GOARCH)
	if err != nil {
		return nil, err
	}
	if program, err = filepath.Abs(program); err != nil {
		return nil, err
	}
	for _, shell := range []string{"bash", "zsh", "fish"} {
		script, err := exec.Command(program, "completion", shell).Output()
		if err != nil {
			return nil, fmt.Errorf("the completion of %s: %w", shell, err)
		}
		s.completions = append(s.completions, item{path: shell, mode: 0o644, content: script})
	}
	text, err := exec.Command(program, "version", "-o", "json").Output()
	if err != nil {
		return nil, fmt.Errorf("the version of the program: %w", err)
	}
	var said struct {
		NewestLevel int `json:"supported_feature_level"`
	}
	err = json.Unmarshal(text, &said)
	s.newestLevel = said.NewestLevel
	return s, err
}
