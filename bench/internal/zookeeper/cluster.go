package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/signalbox/signalbox/bench/internal/delay"
	"github.com/signalbox/signalbox/internal/subprocess"
)

const (
	// startPatience is how long servers have to elect a leader.
	startPatience = 60 * time.Second
	// stopTimeout bounds a server's stop before its kill.
	stopTimeout = 10 * time.Second
	// answerPatience bounds a server's response to a status request.
	answerPatience = time.Second
	// heap is the heap size in ZooKeeper's own start script.
	heap = "-Xmx1000m"
	// logger logs to standard error; without the jar a server works silently.
	logger = "/usr/share/java/slf4j-simple.jar"
)

// Cluster is running servers.
type Cluster struct {
	Endpoints []string
	servers   []*subprocess.Process
	ports     *subprocess.Ports
	links     *delay.Links
	dir       string
}

// Start starts an ensemble of default servers, with data in a new directory below dir. link is the message delay
// between servers.
func Start(ctx context.Context, in Installation, dir string, servers int, link time.Duration) (*Cluster, error) {
	ports, err := subprocess.ReservePorts(3 * servers)
	if err != nil {
		return nil, err
	}
	home, err := os.MkdirTemp(dir, "zookeeper-")
	if err != nil {
		ports.Close()
		return nil, fmt.Errorf("start ZooKeeper: %w", err)
	}
	own := ports.Addresses[servers:]
	links, err := delay.Link(own, link)
	if err != nil {
		ports.Close()
		os.RemoveAll(home)
		return nil, fmt.Errorf("start ZooKeeper: %w", err)
	}
	c := &Cluster{Endpoints: ports.Addresses[:servers], ports: ports, links: links, dir: home}
	for i := range servers {
		// A server listens at its real addresses.
		addresses := slices.Clone(links.Addresses)
		copy(addresses[2*i:2*i+2], own[2*i:])
		if err := c.start(in, i+1, ensemble(addresses)); err != nil {
			c.Stop()
			return nil, err
		}
	}
	ctx, cancel := context.WithTimeoutCause(ctx, startPatience, fmt.Errorf("after %v", startPatience))
	defer cancel()
	if err := subprocess.AwaitAll(ctx, "ZooKeeper is not ready", c.servers, c.ready); err != nil {
		c.Stop()
		return nil, err
	}
	return c, nil
}

// ensemble returns the config lines that name the servers; "" for a single server.
func ensemble(addresses []string) string {
	if len(addresses) == 2 {
		return ""
	}
	var lines strings.Builder
	for i := 0; i < len(addresses); i += 2 {
		_, election, _ := net.SplitHostPort(addresses[i+1])
		fmt.Fprintf(&lines, "server.%d=%s:%s\n", i/2+1, addresses[i], election)
	}
	return lines.String()
}

// start starts one server. Non-default settings: more than 60 connections per address, because callers need more, and
// no admin page, which would need a port.
func (c *Cluster) start(in Installation, id int, ensemble string) error {
	dir := filepath.Join(c.dir, fmt.Sprint(id))
	if err := os.Mkdir(dir, 0o755); err != nil {
		return fmt.Errorf("start ZooKeeper: %w", err)
	}
	_, port, err := net.SplitHostPort(c.Endpoints[id-1])
	if err != nil {
		return fmt.Errorf("start ZooKeeper: %w", err)
	}
	config, err := writeConfig(dir, id, fmt.Sprintf(`tickTime=2000
initLimit=10
syncLimit=5
dataDir=%s
clientPortAddress=127.0.0.1
clientPort=%s
maxClientCnxns=0
admin.enableServer=false
4lw.commands.whitelist=srvr
%s`, dir, port, ensemble))
	if err != nil {
		return fmt.Errorf("start ZooKeeper: %w", err)
	}
	cmd := exec.Command(in.Java, heap, "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-cp", in.Jar+":"+logger,
		"org.apache.zookeeper.server.quorum.QuorumPeerMain", config)
	cmd.Dir = dir
	subprocess.OwnGroup(cmd)
	server, err := subprocess.Launch(fmt.Sprintf("ZooKeeper server %d", id), cmd)
	if err != nil {
		return err
	}
	c.servers = append(c.servers, server)
	return nil
}

// ready reads every server's state.
func (c *Cluster) ready(context.Context) error {
	for _, endpoint := range c.Endpoints {
		if _, err := stateOf(endpoint); err != nil {
			return fmt.Errorf("server at %s: %w", endpoint, err)
		}
	}
	return nil
}

func ask(endpoint string) (string, error) {
	conn, err := net.DialTimeout("tcp", endpoint, answerPatience)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(answerPatience)); err != nil {
		return "", err
	}
	if _, err := io.WriteString(conn, "srvr"); err != nil {
		return "", err
	}
	answer, err := io.ReadAll(conn)
	return string(answer), err
}

// Kill kills a server's process.
func (c *Cluster) Kill(host int) { c.servers[host].Kill() }

// PID is the process ID of a server.
func (c *Cluster) PID(host int) int { return c.servers[host].PID() }

// Start restarts a killed server on its old disk.
func (c *Cluster) Start(host int) (err error) {
	c.servers[host], err = c.servers[host].Again()
	return err
}

// AwaitCaughtUp waits until all servers serve, and have applied the leader's transactions as of the call. It returns
// the leader; a single server counts as the leader.
func (c *Cluster) AwaitCaughtUp(ctx context.Context) (leader int, err error) {
	err = subprocess.AwaitAll(ctx, "ZooKeeper has not caught up", c.servers, func(context.Context) (err error) {
		leader, err = c.caughtUp()
		return err
	})
	return leader, err
}

// caughtUp looks once.
func (c *Cluster) caughtUp() (leader int, err error) {
	leader = -1
	last := uint64(0) // leader's last transaction
	for i, endpoint := range c.Endpoints {
		s, err := stateOf(endpoint)
		if err != nil {
			return 0, err
		}
		if s.mode == "leader" || s.mode == "standalone" {
			leader, last = i, s.last
		}
	}
	if leader < 0 {
		return 0, errors.New("no server leads")
	}
	for _, endpoint := range c.Endpoints {
		s, err := stateOf(endpoint)
		if err != nil {
			return 0, err
		}
		if s.lacks(last) {
			return 0, fmt.Errorf("server at %s has transaction %x, and not yet %x", endpoint, s.last, last)
		}
	}
	return leader, nil
}

// state is a server's reported state.
type state struct {
	mode string
	last uint64 // transaction
}

// lacks reports whether a server lacks a leader's transaction. The upper half is the leader's epoch. An epoch's first
// number is not a transaction, and servers do not report the number before the first transaction.
func (s state) lacks(last uint64) bool { return s.last < last && uint32(last) != 0 }

func stateOf(endpoint string) (s state, err error) {
	answer, err := ask(endpoint)
	if err != nil {
		return s, fmt.Errorf("server at %s: %w", endpoint, err)
	}
	return parseState(answer)
}

// parseState parses the response to srvr. A server that does not serve yet sends a notice instead.
func parseState(answer string) (s state, err error) {
	for line := range strings.Lines(answer) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		switch name {
		case "Mode":
			s.mode = value
		case "Zxid":
			s.last, err = strconv.ParseUint(strings.TrimPrefix(value, "0x"), 16, 64)
		}
	}
	if s.mode == "" && err == nil {
		err = fmt.Errorf("the server says: %.100s", answer)
	}
	return s, err
}

// Commands returns all servers' command lines.
func (c *Cluster) Commands() [][]string {
	var all [][]string
	for _, p := range c.servers {
		all = append(all, p.Args())
	}
	return all
}

// Stop ends all servers and removes their data.
func (c *Cluster) Stop() {
	for _, server := range c.servers {
		server.End(stopTimeout)
	}
	c.links.Close()
	c.ports.Close()
	os.RemoveAll(c.dir)
}
