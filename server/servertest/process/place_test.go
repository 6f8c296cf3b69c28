package process

import (
	"net"
	"testing"
)

func TestAPlaceKeepsItsPortsForItsProcesses(t *testing.T) {
	places, err := Places(Program{}, t.TempDir(), []string{"a", "b", "c"})
	if err != nil {
		t.Fatal(err)
	}
	seen := make(map[string]bool)
	for _, p := range places {
		for _, address := range []string{p.Client, p.Raft, p.Admin} {
			if seen[address] {
				t.Errorf("%s is found twice", address)
			}
			seen[address] = true
			for range 2 { // sequential processes
				l, err := net.Listen("tcp", address)
				if err != nil {
					t.Fatal(err)
				}
				_ = l.Close()
			}
		}
	}
}
