package etcd

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/signalbox/signalbox/internal/subprocess"
)

// Module is the server's main package and, in go.mod, a tool: so its version is fixed.
const Module = "go.etcd.io/etcd/server/v3"

// startPatience is how long members have to elect a leader.
const startPatience = 60 * time.Second

// stopTimeout is how long a member may take to stop before it is killed.
const stopTimeout = 10 * time.Second

// Cluster is running members.
type Cluster struct {
	Endpoints []string
	members   []*subprocess.Process
	ports     *subprocess.Ports
	dir       string
}

// Start starts a cluster of members with their defaults, data in a new directory below dir.
func Start(ctx context.Context, binary, dir string, members int) (*Cluster, error) {
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
	c := &Cluster{Endpoints: clients, ports: ports, dir: home}
	var all []string
	for i, peer := range peers {
		all = append(all, fmt.Sprintf("m%d=http://%s", i, peer))
	}
	for i := range members {
		name := fmt.Sprintf("m%d", i)
		cmd := exec.Command(binary, "--name", name, "--data-dir", filepath.Join(home, name),
			"--listen-client-urls", "http://"+clients[i], "--advertise-client-urls", "http://"+clients[i],
			"--listen-peer-urls", "http://"+peers[i], "--initial-advertise-peer-urls", "http://"+peers[i],
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

// ready asks every member for something that it needs the leader for.
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

// dial makes a client with one connection.
func dial(endpoint string) (*clientv3.Client, error) {
	return clientv3.New(clientv3.Config{Endpoints: []string{endpoint}, Logger: zap.NewNop()})
}

// Commands are the command lines of all members.
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
	c.ports.Close()
	os.RemoveAll(c.dir)
}
