package etcd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/signalbox/signalbox/bench/internal/delay"
	"github.com/signalbox/signalbox/internal/subprocess"
)

// Module is the server's main package and, in go.mod, a tool: so the version is fixed.
const Module = "go.etcd.io/etcd/server/v3"

// startPatience is how long members have to elect a leader.
const startPatience = 60 * time.Second

// stopTimeout bounds a member's stop before its kill.
const stopTimeout = 10 * time.Second

// Cluster is running members.
type Cluster struct {
	Endpoints []string
	members   []*subprocess.Process
	ports     *subprocess.Ports
	links     *delay.Links
	dir       string
}

// Start starts a cluster of default members, with data in a new directory below dir. link is the message delay between
// members.
func Start(ctx context.Context, binary, dir string, members int, link time.Duration) (*Cluster, error) {
	ports, err := subprocess.ReservePorts(2 * members)
	if err != nil {
		return nil, err
	}
	clients, peers := ports.Addresses[:members], ports.Addresses[members:]
	home, err := os.MkdirTemp(dir, "etcd-")
	if err != nil {
		ports.Close()
		return nil, fmt.Errorf("start etcd: %w", err)
	}
	links, err := delay.Link(peers, link)
	if err != nil {
		ports.Close()
		os.RemoveAll(home)
		return nil, fmt.Errorf("start etcd: %w", err)
	}
	c := &Cluster{Endpoints: clients, ports: ports, links: links, dir: home}
	var all []string
	for i, peer := range links.Addresses {
		all = append(all, fmt.Sprintf("m%d=http://%s", i, peer))
	}
	for i := range members {
		name := fmt.Sprintf("m%d", i)
		cmd := exec.Command(binary, "--name", name, "--data-dir", filepath.Join(home, name),
			"--listen-client-urls", "http://"+clients[i], "--advertise-client-urls", "http://"+clients[i],
			"--listen-peer-urls", "http://"+peers[i], "--initial-advertise-peer-urls", "http://"+links.Addresses[i],
			"--initial-cluster", strings.Join(all, ","), "--log-level", "warn")
		subprocess.OwnGroup(cmd)
		member, err := subprocess.Launch("etcd member "+name, cmd)
		if err != nil {
			c.Stop()
			return nil, err
		}
		c.members = append(c.members, member)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, startPatience, fmt.Errorf("after %v", startPatience))
	defer cancel()
	if err := subprocess.AwaitAll(ctx, "etcd is not ready", c.members, c.ready); err != nil {
		c.Stop()
		return nil, err
	}
	return c, nil
}

// ready sends every member a request that needs the leader.
func (c *Cluster) ready(ctx context.Context) error {
	for _, endpoint := range c.Endpoints {
		if err := answers(ctx, endpoint); err != nil {
			return fmt.Errorf("member at %s: %w", endpoint, err)
		}
	}
	return nil
}

func answers(ctx context.Context, endpoint string) error {
	client, err := dial(endpoint)
	if err != nil {
		return err
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	_, err = client.Get(ctx, "ready")
	return err
}

// dial creates a client with one connection per endpoint.
func dial(endpoints ...string) (*clientv3.Client, error) {
	return clientv3.New(clientv3.Config{Endpoints: endpoints, Logger: zap.NewNop()})
}

// Kill kills a member's process.
func (c *Cluster) Kill(host int) { c.members[host].Kill() }

// PID is the process ID of a member.
func (c *Cluster) PID(host int) int { return c.members[host].PID() }

// Start restarts a killed member on its old disk.
func (c *Cluster) Start(host int) (err error) {
	c.members[host], err = c.members[host].Again()
	return err
}

// AwaitCaughtUp waits until all members respond, agree on the leader, and have applied the leader's log as of the call.
// It returns the leader.
func (c *Cluster) AwaitCaughtUp(ctx context.Context) (leader int, err error) {
	err = subprocess.AwaitAll(ctx, "etcd has not caught up", c.members, func(ctx context.Context) (err error) {
		leader, err = c.caughtUp(ctx)
		return err
	})
	return leader, err
}

// caughtUp looks once.
func (c *Cluster) caughtUp(ctx context.Context) (leader int, err error) {
	leader = -1
	index := uint64(0) // of the leader
	for i := range c.Endpoints {
		s, err := c.status(ctx, i)
		if err != nil {
			return 0, err
		}
		if s.Leader == s.Header.MemberId {
			leader, index = i, s.RaftIndex
		}
	}
	if leader < 0 {
		return 0, errors.New("no member leads")
	}
	for i := range c.Endpoints {
		s, err := c.status(ctx, i)
		if err != nil {
			return 0, err
		}
		if s.RaftAppliedIndex < index || s.Leader == 0 {
			return 0, fmt.Errorf("member %d has applied %d of %d entries", i, s.RaftAppliedIndex, index)
		}
	}
	return leader, nil
}

// status reads one member's status.
func (c *Cluster) status(ctx context.Context, host int) (*clientv3.StatusResponse, error) {
	client, err := dial(c.Endpoints[host])
	if err != nil {
		return nil, err
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	return client.Status(ctx, c.Endpoints[host])
}

// Commands returns all members' command lines.
func (c *Cluster) Commands() [][]string {
	var all [][]string
	for _, p := range c.members {
		all = append(all, p.Args())
	}
	return all
}

// Stop ends all members and removes their data.
func (c *Cluster) Stop() {
	for _, member := range c.members {
		member.End(stopTimeout)
	}
	c.links.Close()
	c.ports.Close()
	os.RemoveAll(c.dir)
}
