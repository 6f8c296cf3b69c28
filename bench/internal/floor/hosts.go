package floor

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/signalbox/signalbox/bench/internal/load"
	"github.com/signalbox/signalbox/bench/internal/process"
)

// Proposal starts hosts, each as a process of its own, and returns what the one that leads measures.
// command makes the command line of a host of a number, with a data directory and the addresses of all,
// that of host 1 first.
func Proposal(ctx context.Context, dir string, hosts int, command func(self int, dir string, addresses []string) []string) (load.Result, error) {
	addresses, err := process.FreeAddresses(hosts)
	if err != nil {
		return load.Result{}, err
	}
	home, err := os.MkdirTemp(dir, "proposal-")
	if err != nil {
		return load.Result{}, fmt.Errorf("measure a proposal: %w", err)
	}
	defer os.RemoveAll(home)

	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type ending struct {
		printed []byte
		err     error
	}
	endings := make(chan ending, hosts)
	for i := range hosts {
		name := fmt.Sprint(i + 1)
		spec := process.Spec{
			Name: "proposing host " + name, Log: filepath.Join(home, name+".log"),
			Command: command(i+1, filepath.Join(home, name), addresses),
		}
		go func() {
			printed, err := process.Output(ctx, spec)
			endings <- ending{printed, err}
		}()
	}
	// Only a host that leads ends by itself, and then the others are not needed any more.
	first := <-endings
	cancel()
	for range hosts - 1 {
		<-endings
	}
	if first.err != nil {
		return load.Result{}, first.err
	}
	return load.ParseResult(first.printed)
}
