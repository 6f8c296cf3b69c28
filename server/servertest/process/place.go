package process

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"
)

// Place is where a host lives, from one of its processes to the next. Its ports are its own while no process runs, where
// the system is Linux.
type Place struct {
	Program             Program
	Name, Dir           string
	Client, Raft, Admin string   // addresses
	Args                []string // of serve, besides the directory and the addresses

	ports []io.Closer // held for as long as the place is in use
}

// lone is what a host is called that is not told its name.
const lone = "signalbox"

// NewPlace finds a place for a host by itself, which is told nothing but its directory, its addresses and the arguments.
func NewPlace(program Program, dir string, args ...string) (*Place, error) {
	p := &Place{Program: program, Name: lone, Dir: dir, Args: args}
	if err := p.find(); err != nil {
		return nil, err
	}
	p.found()
	return p, nil
}

// Places finds places for the hosts of a cluster below a directory, with the list of them that they all get.
func Places(program Program, dir string, names []string, args ...string) ([]*Place, error) {
	var places []*Place
	var list []string
	for _, name := range names {
		p := &Place{Program: program, Name: name, Dir: filepath.Join(dir, name)}
		if err := p.find(); err != nil {
			return nil, err
		}
		defer p.found() // when all are found, so that no port is found twice
		places = append(places, p)
		list = append(list, name+"="+p.Raft)
	}
	for _, p := range places {
		p.Args = append([]string{"--name", p.Name, "--host", strings.Join(list, ",")}, args...)
	}
	return places, nil
}

// find finds the addresses of the place, and holds them.
func (p *Place) find() error {
	for _, address := range []*string{&p.Client, &p.Raft, &p.Admin} {
		found, port, err := reserve()
		if err != nil {
			return fmt.Errorf("process: find a port for host %s: %w", p.Name, err)
		}
		*address = found
		p.ports = append(p.ports, port)
	}
	return nil
}

// found leaves the ports to the processes of the place.
func (p *Place) found() {
	if portsAreKept {
		return
	}
	for _, port := range p.ports {
		_ = port.Close()
	}
}

// Addresses lists where the clients of the places connect.
func Addresses(places []*Place) (list []string) {
	for _, p := range places {
		list = append(list, p.Client)
	}
	return list
}
