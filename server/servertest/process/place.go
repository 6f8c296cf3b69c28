package process

import (
	"fmt"
	"net"
	"path/filepath"
	"strings"
)

// Place is where a host lives, from one of its processes to the next.
type Place struct {
	Program             Program
	Name, Dir           string
	Client, Raft, Admin string   // addresses
	Args                []string // of serve, besides the directory and the addresses
}

// Places finds places for the hosts of a cluster below a directory, with the list of them that they all get.
func Places(program Program, dir string, names []string, args ...string) ([]*Place, error) {
	var places []*Place
	var list []string
	for _, name := range names {
		p := &Place{Program: program, Name: name, Dir: filepath.Join(dir, name)}
		for _, address := range []*string{&p.Client, &p.Raft, &p.Admin} {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				return nil, fmt.Errorf("process: find a port for host %s: %w", name, err)
			}
			// All are held until all are found, so that none is found twice.
			defer l.Close()
			*address = l.Addr().String()
		}
		places = append(places, p)
		list = append(list, name+"="+p.Raft)
	}
	for _, p := range places {
		p.Args = append([]string{"--name", p.Name, "--host", strings.Join(list, ",")}, args...)
	}
	return places, nil
}

// Addresses lists where the clients of the places connect.
func Addresses(places []*Place) (list []string) {
	for _, p := range places {
		list = append(list, p.Client)
	}
	return list
}
