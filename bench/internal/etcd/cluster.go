package etcd

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/signalbox/signalbox/bench/internal/process"
)

// Module is the server's main package and, in go.mod, a tool: so its version is fixed.
const Module = "go.etcd.io/etcd/server/v3"

// startPatience is how long members have to elect a leader.
const startPatience = 60 * time.Second

// Cluster is running members.
type Cluster struct {
	Endpoints []string
	members   []*process.Process
	dir       string
}

// Start starts a cluster of members with their defaults, data in a new directory below dir.
func Start(ctx context.Context, binary, dir string, members int) (*Cluster, error) {
	addresses, err := process.FreeAddresses(2 * members)
	if err != nil {
		return nil, err
	}
	clients, peers := addresses[:members], addresses[members:]
	home, err := os.MkdirTemp(dir, "etcd-")
	if err != nil {
		return nil, fmt.Errorf("start etcd: %w", err)
	}
	c := &Cluster{Endpoints: clients, dir: home}
	var all []string
	for i, peer := range peers {
		all = append(all, fmt.Sprintf("m%d=http://%s", i, peer))
	}
	for i := range members {
		member, err := process.Start(process.Spec{
			Name: fmt.Sprintf("etcd member %d", i), Log: filepath.Join(home, fmt.Sprintf("m%d.log", i)),
			Command: []string{
				binary, "--name", fmt.Sprintf("m%d", i), "--data-dir", filepath.Join(home, fmt.Sprintf("m%d", i)),
				"--listen-client-urls", "http://" + clients[i], "--advertise-client-urls", "http://" + clients[i],
				"--listen-peer-urls", "http://" + peers[i], "--initial-advertise-peer-urls", "http://" + peers[i],
				"--initial-cluster", strings.Join(all, ","), "--log-level", "warn",
			},
		})
		if err != nil {
			c.Stop()
			return nil, err
		}
		c.members = append(c.members, member)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, startPatience, fmt.Errorf("after %v", startPatience))
	defer cancel()
	if err := process.Await(ctx, "etcd", c.members, c.ready); err != nil {
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
		all = append(all, p.Command())
	}
	return all
}

// Stop ends all members and removes their data.
func (c *Cluster) Stop() {
	for _, member := range c.members {
		member.Stop()
	}
	os.RemoveAll(c.dir)
}
