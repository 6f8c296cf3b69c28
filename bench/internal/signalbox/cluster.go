// Package signalbox runs Signalbox hosts as processes, for workloads that kill or fill hosts. Workloads that only drive
// hosts use loadgen.
package signalbox

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/signalbox/signalbox/bench/internal/delay"
	"github.com/signalbox/signalbox/internal/subprocess"
	"github.com/signalbox/signalbox/server/admin"
	"github.com/signalbox/signalbox/server/servertest/process"
)

const (
	// startPatience is how long hosts have to be ready.
	startPatience = 60 * time.Second
	// stopTimeout bounds a host's stop before its kill.
	stopTimeout = 10 * time.Second
)

// Cluster is running hosts, with their defaults.
type Cluster struct {
	Endpoints []string
	places    []*process.Place
	hosts     []*process.Host
	links     *delay.Links
	dir       string
}

// Start starts a cluster of new hosts, with data in a new directory below dir, and waits until all are ready. link is
// the message delay between hosts.
func Start(ctx context.Context, binary, dir string, hosts int, link time.Duration, flags ...string) (*Cluster, error) {
	home, err := os.MkdirTemp(dir, "signalbox-")
	if err != nil {
		return nil, fmt.Errorf("start Signalbox: %w", err)
	}
	names := make([]string, hosts)
	for i := range names {
		names[i] = fmt.Sprintf("host-%c", 'a'+i)
	}
	places, err := process.Places(process.Program{Path: binary, Env: delay.Environment()}, home, names, flags...)
	if err != nil {
		os.RemoveAll(home)
		return nil, fmt.Errorf("start Signalbox: %w", err)
	}
	links, err := connect(places, link, flags)
	if err != nil {
		os.RemoveAll(home)
		return nil, fmt.Errorf("start Signalbox: %w", err)
	}
	c := &Cluster{
		Endpoints: process.Addresses(places), places: places, hosts: make([]*process.Host, hosts),
		links: links, dir: home,
	}
	for i := range places {
		if err := c.Start(i); err != nil {
			c.Stop()
			return nil, err
		}
	}
	ctx, cancel := context.WithTimeoutCause(ctx, startPatience, fmt.Errorf("after %v", startPatience))
	defer cancel()
	if _, err := c.AwaitCaughtUp(ctx); err != nil {
		c.Stop()
		return nil, err
	}
	return c, nil
}

// connect connects hosts through delayed links.
func connect(places []*process.Place, link time.Duration, flags []string) (*delay.Links, error) {
	var own, list []string
	for _, p := range places {
		own = append(own, p.Raft)
	}
	links, err := delay.Link(own, link)
	if err != nil || link == 0 || len(places) == 1 {
		return links, err
	}
	for i, p := range places {
		list = append(list, p.Name+"="+links.Addresses[i])
	}
	for i, p := range places {
		p.Args = append([]string{
			"--name", p.Name, "--initial-hosts", strings.Join(list, ","), "--raft-advertise", links.Addresses[i],
		}, flags...)
	}
	return links, nil
}

// AdminEndpoints returns all hosts' admin addresses.
func (c *Cluster) AdminEndpoints() []string {
	var all []string
	for _, p := range c.places {
		all = append(all, "http://"+p.Admin)
	}
	return all
}

// Start starts a host's process on its old disk.
func (c *Cluster) Start(host int) (err error) {
	c.hosts[host], err = c.places[host].Start()
	return err
}

// Kill kills a host's process.
func (c *Cluster) Kill(host int) { c.hosts[host].Kill() }

// PID is the process ID of a host.
func (c *Cluster) PID(host int) int { return c.hosts[host].PID() }

// AwaitCaughtUp waits until all hosts are ready, agree on every shard's leader, and have applied the leaders' logs as
// of the call. It returns the host that leads the first data shard.
func (c *Cluster) AwaitCaughtUp(ctx context.Context) (leader int, err error) {
	all := make([]*subprocess.Process, 0, len(c.hosts))
	for _, h := range c.hosts {
		all = append(all, h.Process)
	}
	err = subprocess.AwaitAll(ctx, "the hosts of Signalbox are not ready", all, func(context.Context) (err error) {
		leader, err = c.caughtUp()
		return err
	})
	return leader, err
}

// caughtUp looks once.
func (c *Cluster) caughtUp() (leader int, err error) {
	leader = -1
	applied := make(map[uint64]uint64) // leaders' applied index by shard
	for i, h := range c.hosts {
		if code, text := h.Get("/health/ready"); code != http.StatusOK {
			return 0, fmt.Errorf("%s: %d %.200s", h.Name, code, text)
		}
		status, err := h.Status()
		if err != nil {
			return 0, err
		}
		for _, s := range status.Shards {
			if !s.Leads {
				continue
			}
			applied[s.ID] = max(applied[s.ID], s.Applied)
			if s.ID == 1 {
				leader = i
			}
		}
	}
	if leader < 0 {
		return 0, fmt.Errorf("no host leads the first data shard")
	}
	return leader, c.haveApplied(applied)
}

// haveApplied returns an error unless all hosts have applied the wanted index in each shard.
func (c *Cluster) haveApplied(want map[uint64]uint64) error {
	for _, h := range c.hosts {
		status, err := h.Status()
		if err != nil {
			return err
		}
		if err := behind(status, want); err != nil {
			return fmt.Errorf("%s: %w", h.Name, err)
		}
	}
	return nil
}

func behind(status admin.Status, want map[uint64]uint64) error {
	for _, s := range status.Shards {
		index, led := want[s.ID]
		if !led || s.Leader == 0 {
			return fmt.Errorf("shard %d has no leader", s.ID)
		}
		if s.Applied < index {
			return fmt.Errorf("shard %d has %d of %d entries", s.ID, s.Applied, index)
		}
	}
	return nil
}

// Commands returns all hosts' command lines.
func (c *Cluster) Commands() [][]string {
	var all [][]string
	for _, h := range c.hosts {
		all = append(all, h.Args())
	}
	return all
}

// Stop ends all hosts and removes their data.
func (c *Cluster) Stop() {
	for _, h := range c.hosts {
		if h != nil {
			h.End(stopTimeout)
		}
	}
	c.links.Close()
	os.RemoveAll(c.dir)
}
