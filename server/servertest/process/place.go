package process

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/signalbox/signalbox/internal/subprocess"
	"github.com/signalbox/signalbox/protocol/level"
)

// Program is a runnable signalbox binary.
type Program struct {
	Path string
	// Env is the processes' environment; an empty Env is not replaced by this process's environment.
	Env []string

	delays bool // of BuildDelayed
}

// Build builds this repository's signalbox into a directory.
func Build(dir string) (Program, error) { return build(filepath.Join(dir, "signalbox")) }

// BuildAt builds a program with the given newest feature level, as visible to a cluster.
func BuildAt(dir string, at level.Level) (Program, error) {
	flag := fmt.Sprintf("-ldflags=-X github.com/signalbox/signalbox/protocol/level.newest=%d", at)
	return build(filepath.Join(dir, fmt.Sprintf("signalbox-%d", at)), flag)
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

// Place is a host's directory and addresses, used by all its processes in turn. On Linux its ports are reserved while
// no process runs.
type Place struct {
	Program             Program
	Name, Dir           string
	Client, Raft, Admin string   // addresses
	Args                []string // serve arguments, besides directory and addresses
	HTTP                string   // HTTP API address; empty for none

	others bool              // belongs to a cluster, with a peer listener
	ports  *subprocess.Ports // shared by all places in the cluster
}

// lone is the host name without a name in the arguments.
const lone = "signalbox"

// NewPlace allocates a place for a single host, which gets only its directory, its addresses and the arguments.
func NewPlace(program Program, dir string, args ...string) (*Place, error) {
	p := &Place{Program: program, Name: lone, Dir: dir, Args: args}
	return p, reserve(p)
}

// Places allocates places for a cluster's hosts below a directory, with a common host list if there are several.
func Places(program Program, dir string, names []string, args ...string) ([]*Place, error) {
	var places []*Place
	for _, name := range names {
		p := &Place{Program: program, Name: name, Dir: filepath.Join(dir, name), others: len(names) > 1}
		places = append(places, p)
	}
	if err := reserve(places...); err != nil {
		return nil, err
	}
	var list []string
	for _, p := range places {
		list = append(list, p.Name+"="+p.Raft)
	}
	for _, p := range places {
		p.Args = append([]string{"--name", p.Name}, args...)
		if p.others {
			p.Args = append(p.Args, "--initial-hosts", strings.Join(list, ","))
		}
	}
	return places, nil
}

// Growing allocates places for a cluster's hosts below a directory: the first host creates the cluster, by Init, and
// later hosts join any existing host.
func Growing(program Program, dir string, names []string, args ...string) ([]*Place, error) {
	places, err := Places(program, dir, names, args...)
	if err != nil {
		return nil, err
	}
	var all []string
	for _, p := range places {
		all = append(all, p.Raft)
	}
	for i, p := range places {
		p.others = true
		p.Args = append([]string{"--name", p.Name}, args...)
		if i > 0 {
			p.Args = append(p.Args, "--join", strings.Join(all, ","))
		}
	}
	return places, nil
}

// Init creates a single-host cluster in the place.
func (p *Place) Init() error {
	cmd := exec.Command(p.Program.Path, append([]string{"init"}, p.settings()...)...)
	cmd.Env = append([]string{}, p.Program.Env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("process: init of host %s: %w\n%s", p.Name, err, out)
	}
	return nil
}

// settings are the place's flags.
func (p *Place) settings() []string {
	args := []string{"--data-dir", p.Dir, "--listen", p.Client, "--admin-listen", p.Admin}
	if p.others {
		args = append(args, "--raft-listen", p.Raft)
	}
	return append(args, p.Args...)
}

// reserve allocates and reserves the places' addresses.
func reserve(places ...*Place) error {
	ports, err := subprocess.ReservePorts(3 * len(places))
	if err != nil {
		return err
	}
	for i, p := range places {
		of := ports.Addresses[3*i:]
		p.Client, p.Raft, p.Admin, p.ports = of[0], of[1], of[2], ports
	}
	return nil
}

// Addresses lists the places' client addresses.
func Addresses(places []*Place) (list []string) {
	for _, p := range places {
		list = append(list, p.Client)
	}
	return list
}
