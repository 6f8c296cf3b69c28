package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/signalbox/signalbox/bench/internal/trace"
	"github.com/signalbox/signalbox/internal/subprocess"
)

// tracePatience is how long the host of a trace has to serve, and to stop.
const tracePatience = time.Minute

// listening is what the host of a trace prints when clients can connect.
const listening = "listening"

// tracing are the flags of trace.
type tracing struct {
	cycles, warmup int
	dir            string
}

func newTrace() *cobra.Command {
	var o tracing
	c := &cobra.Command{
		Use:   "trace",
		Short: "Follow the acquires and releases of one caller hop by hop, and print what each hop takes",
		Args:  cobra.NoArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return o.run(c.Context(), c.OutOrStdout()) },
	}
	f := c.Flags()
	f.IntVar(&o.cycles, "cycles", 5000, "how many acquires and releases are followed")
	f.IntVar(&o.warmup, "warmup", 1000, "how many are made before")
	f.StringVar(&o.dir, "dir", os.TempDir(), "where a directory for the data is made; it must be on a disk")
	return c
}

// newTracedHost returns the command that is the host of a trace.
func newTracedHost() *cobra.Command {
	c := &cobra.Command{
		Use:   "traced-host",
		Short: "Be the host of a trace, until SIGTERM",
		Args:  cobra.NoArgs,
	}
	f := c.Flags()
	dir := f.String("dir", "", "the data directory")
	listen := f.String("listen", "", "where clients connect")
	output := f.String("output", "", "the file for what was seen")
	c.RunE = func(c *cobra.Command, _ []string) error {
		listens := func() { fmt.Fprintln(c.OutOrStdout(), listening) }
		if err := trace.Serve(c.Context(), *dir, *listen, *output, listens); err != nil {
			return fmt.Errorf("traced-host: %w", err)
		}
		return nil
	}
	return c
}

func (t *tracing) run(ctx context.Context, out io.Writer) error {
	if t.cycles < 1 || t.warmup < 0 {
		return errors.New("trace: the cycles must be above zero, and the warm-up not below it")
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("trace: find this program: %w", err)
	}
	acquires, releases, err := t.follow(ctx, self)
	if err != nil {
		return fmt.Errorf("trace: %w", err)
	}
	return trace.Write(out, acquires, releases)
}

// follow starts a host, has the caller work, and stops the host for what it has seen.
func (t *tracing) follow(ctx context.Context, self string) (acquires, releases *trace.Operation, err error) {
	dir, err := os.MkdirTemp(t.dir, "signalbox-trace-")
	if err != nil {
		return nil, nil, err
	}
	defer os.RemoveAll(dir)
	ports, err := subprocess.ReservePorts(1)
	if err != nil {
		return nil, nil, err
	}
	defer ports.Close()
	output := filepath.Join(dir, "stamps")
	cmd := exec.Command(self, "traced-host", "--dir", filepath.Join(dir, "data"), "--listen", ports.Addresses[0],
		"--output", output)
	subprocess.OwnGroup(cmd)
	host, err := subprocess.Launch("the traced host", cmd)
	if err != nil {
		return nil, nil, err
	}
	defer host.Kill()
	listens := func() bool { return strings.Contains(host.Output(), listening) }
	err = host.AwaitOutput("it listens", tracePatience, listens)
	if err != nil {
		return nil, nil, err
	}
	return trace.Of(ctx, ports.Addresses[0], t.warmup, t.cycles, func() (string, error) {
		return output, host.Stop(tracePatience)
	})
}
