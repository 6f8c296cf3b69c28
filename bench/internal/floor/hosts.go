package floor

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/signalbox/signalbox/internal/subprocess"
	"github.com/signalbox/signalbox/loadgen/report"
)

// Proposal starts hosts in separate processes, and returns the leading host's measurement. command makes a host's
// command line from its number, its data directory and all addresses, host 1 first.
func Proposal(ctx context.Context, dir string, hosts int,
	command func(self int, dir string, addresses []string) []string) (*report.Report, error) {
	ports, err := subprocess.ReservePorts(hosts)
	if err != nil {
		return nil, err
	}
	defer ports.Close()
	home, err := os.MkdirTemp(dir, "proposal-")
	if err != nil {
		return nil, fmt.Errorf("measure a proposal: %w", err)
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
		args := command(i+1, filepath.Join(home, name), ports.Addresses)
		go func() {
			cmd := exec.Command(args[0], args[1:]...)
			subprocess.OwnGroup(cmd)
			printed, err := subprocess.Output(ctx, "proposing host "+name, cmd)
			endings <- ending{printed, err}
		}()
	}
	// Only the leading host exits by itself; then the followers are not needed any more.
	first := <-endings
	cancel()
	for range hosts - 1 {
		<-endings
	}
	if first.err != nil {
		return nil, first.err
	}
	return report.Parse(first.printed)
}
