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
	"github.com/signalbox/signalbox/shard"
)

// tracePatience bounds a traced host's start and stop.
const tracePatience = time.Minute

// listening is the traced host's output once clients can connect.
const listening = "listening"

// tracing are the flags for trace.
type tracing struct {
	work           string
	hosts          int
	cycles, warmup int
	dir            string
}

func newTrace() *cobra.Command {
	var o tracing
	c := &cobra.Command{
		Use:   "trace",
		Short: "Follow operations hop by hop, and print what each hop takes",
		Args:  cobra.NoArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return o.run(c.Context(), c.OutOrStdout()) },
	}
	f := c.Flags()
	f.StringVar(&o.work, "work", "lock", "what is followed: one caller's acquires and releases (lock), a lock that "+
		"32 callers want (handoff), one caller's relaxed reads (read) or pings (echo)")
	f.IntVar(&o.hosts, "hosts", 1, "of how many hosts the cluster is, 1 or 3")
	f.IntVar(&o.cycles, "cycles", 5000, "how many times it is followed")
	f.IntVar(&o.warmup, "warmup", 1000, "how many are made before")
	f.StringVar(&o.dir, "dir", os.TempDir(), "where a directory for the data is made; it must be on a disk")
	return c
}

// newTracedHost returns the command for a traced host.
func newTracedHost() *cobra.Command {
	c := &cobra.Command{
		Use:   "traced-host",
		Short: "Be a host of a trace, until SIGTERM",
		Args:  cobra.NoArgs,
	}
	f := c.Flags()
	var at trace.Place
	f.StringVar(&at.Dir, "dir", "", "the data directory")
	f.StringVar(&at.Client, "listen", "", "where clients connect")
	f.StringSliceVar(&at.Hosts, "hosts", nil, "where hosts reach each other, host 1 first; none for one alone")
	self := f.Uint64("self", 1, "the number of this host")
	output := f.String("output", "", "the file for what was seen")
	c.RunE = func(c *cobra.Command, _ []string) error {
		listens := func() { fmt.Fprintln(c.OutOrStdout(), listening) }
		at.Self = shard.HostID(*self)
		if err := trace.Serve(c.Context(), at, *output, listens); err != nil {
			return fmt.Errorf("traced-host: %w", err)
		}
		return nil
	}
	return c
}

func (t *tracing) run(ctx context.Context, out io.Writer) error {
	work, ok := trace.WorkOf(t.work)
	switch {
	case !ok:
		return fmt.Errorf("trace: nothing is named %q; there are %s", t.work, strings.Join(trace.Works(), ", "))
	case t.cycles < 1 || t.warmup < 0:
		return errors.New("trace: the cycles must be above zero, and the warm-up not below it")
	case t.hosts != 1 && t.hosts != 3:
		return errors.New("trace: there are 1 or 3 hosts")
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("trace: find this program: %w", err)
	}
	operations, err := t.follow(ctx, self, work)
	if err != nil {
		return fmt.Errorf("trace: %w", err)
	}
	return trace.Write(out, operations...)
}

// follow starts hosts, runs the callers, and stops the hosts to collect their stamps.
func (t *tracing) follow(ctx context.Context, self string, work trace.Work) (followed []*trace.Operation, err error) {
	dir, err := os.MkdirTemp(t.dir, "signalbox-trace-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	ports, err := subprocess.ReservePorts(2 * t.hosts)
	if err != nil {
		return nil, err
	}
	defer ports.Close()
	clients, others := ports.Addresses[:t.hosts], ports.Addresses[t.hosts:]
	if t.hosts == 1 {
		others = nil
	}
	var started []*subprocess.Process
	var files []string
	for i, client := range clients {
		name := filepath.Join(dir, fmt.Sprint(i+1))
		cmd := exec.Command(self, "traced-host", "--dir", name, "--listen", client, "--self", fmt.Sprint(i+1),
			"--hosts", strings.Join(others, ","), "--output", name+".stamps")
		subprocess.OwnGroup(cmd)
		host, err := subprocess.Launch(fmt.Sprint("the traced host ", i+1), cmd)
		if err != nil {
			return nil, err
		}
		defer host.Kill()
		started, files = append(started, host), append(files, name+".stamps")
	}
	for _, host := range started {
		listens := func() bool { return strings.Contains(host.Output(), listening) }
		if err := host.AwaitOutput("it listens", tracePatience, listens); err != nil {
			return nil, err
		}
	}
	return trace.Of(ctx, strings.Join(clients, ","), work, t.warmup, t.cycles, func() ([]string, error) {
		for _, host := range started {
			if err := host.Stop(tracePatience); err != nil {
				return nil, err
			}
		}
		return files, nil
	})
}
