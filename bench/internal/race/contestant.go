package race

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"

	"github.com/signalbox/signalbox/bench/internal/doors"
	"github.com/signalbox/signalbox/bench/internal/etcd"
	"github.com/signalbox/signalbox/bench/internal/floor"
	"github.com/signalbox/signalbox/bench/internal/redis"
	"github.com/signalbox/signalbox/bench/internal/results"
	"github.com/signalbox/signalbox/bench/internal/signalbox"
	"github.com/signalbox/signalbox/bench/internal/zookeeper"
	"github.com/signalbox/signalbox/internal/subprocess"
	"github.com/signalbox/signalbox/loadgen/report"
)

// Contestant runs tasks. A run starts empty servers, drives the servers, stops them and removes their files.
type Contestant interface {
	Name() string
	Version() results.Version
	// Run returns the result, and the command lines that reproduce the run.
	Run(ctx context.Context, t Task) (*report.Report, [][]string, error)
}

// Signalbox runs loadgen, which starts the hosts too, except in workloads that kill or fill hosts.
type Signalbox struct {
	Self    string // this program, with the driver over HTTP
	Loadgen string // the program
	Binary  string // the server's
	Of      string // its version
}

// Name implements Contestant.
func (s Signalbox) Name() string { return results.Signalbox }

// Version implements Contestant.
func (s Signalbox) Version() results.Version {
	return results.Version{Name: "Signalbox", Version: s.Of}
}

// Run implements Contestant.
func (s Signalbox) Run(ctx context.Context, t Task) (*report.Report, [][]string, error) {
	switch {
	case t.fails():
		return s.failover(ctx, t)
	case t.grows():
		return s.growth(ctx, t)
	case t.overHTTP():
		return s.http(ctx, t)
	}
	if t.Watchers == 0 {
		t.Settings.Connections = min(t.Settings.Connections, max(1, t.Callers/callersPerConnection))
	}
	command := slices.Concat([]string{s.Loadgen, "run"}, t.planFlags(), t.Flags, []string{"--output", "json"})
	if t.LinkDelay == 0 {
		command = append(command, "--binary", s.Binary)
		result, err := output(ctx, t, "loadgen", command)
		return result, [][]string{command}, err
	}
	cluster, err := signalbox.Start(ctx, s.Binary, t.Dir, t.Hosts, t.LinkDelay)
	if err != nil {
		return nil, nil, err
	}
	defer cluster.Stop()
	command = append(command, "--endpoints", strings.Join(cluster.Endpoints, ","),
		"--admin-endpoints", strings.Join(cluster.AdminEndpoints(), ","))
	result, err := output(ctx, t, "loadgen", command)
	return result, append(cluster.Commands(), command), err
}

// overHTTP reports whether a task drives its servers through their HTTP APIs. Then bench drives all contestants, so
// that the callers cost the same.
func (t Task) overHTTP() bool { return t.Workload == doors.Lock || t.Workload == doors.Echo }

func (s Signalbox) http(ctx context.Context, t Task) (*report.Report, [][]string, error) {
	ports, err := subprocess.ReservePorts(1)
	if err != nil {
		return nil, nil, err
	}
	defer ports.Close()
	cluster, err := signalbox.Start(ctx, s.Binary, t.Dir, t.Hosts, t.LinkDelay, "--http-listen", ports.Addresses[0])
	if err != nil {
		return nil, nil, err
	}
	defer cluster.Stop()
	t.Settings.Connections = t.Callers
	return drive(ctx, t, s.Self, "signalbox-http", ports.Addresses, cluster.Commands())
}

// callersPerConnection is the number of callers per Signalbox connection, loadgen's default: a program has one client,
// and, unlike with peers, few callers over many connections do worse.
const callersPerConnection = 128

// output runs a load generator to its end. Temporary files go to the race's directory.
func output(ctx context.Context, t Task, name string, command []string) (*report.Report, error) {
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Env = append(os.Environ(), "TMPDIR="+t.Dir)
	subprocess.OwnGroup(cmd)
	printed, err := subprocess.Output(ctx, name, cmd)
	if err != nil {
		return nil, err
	}
	return report.Parse(printed)
}

// Etcd starts and drives etcd members.
type Etcd struct {
	Self   string // this program, with the driver
	Binary string // the server's
	Of     string // its version
}

// Name implements Contestant.
func (e Etcd) Name() string { return results.Etcd }

// Version implements Contestant.
func (e Etcd) Version() results.Version { return results.Version{Name: "etcd", Version: e.Of} }

// Run implements Contestant.
func (e Etcd) Run(ctx context.Context, t Task) (*report.Report, [][]string, error) {
	switch {
	case t.fails():
		return e.failover(ctx, t)
	case t.grows():
		return e.growth(ctx, t)
	}
	cluster, err := etcd.Start(ctx, e.Binary, t.Dir, t.Hosts, t.LinkDelay)
	if err != nil {
		return nil, nil, err
	}
	defer cluster.Stop()
	driver := "etcd"
	if t.overHTTP() {
		driver, t.Settings.Connections = "etcd-http", t.Callers
	}
	return drive(ctx, t, e.Self, driver, cluster.Endpoints, cluster.Commands())
}

// ZooKeeper starts and drives ZooKeeper servers.
type ZooKeeper struct {
	Self         string // this program, with the driver
	Installation zookeeper.Installation
}

// Name implements Contestant.
func (z ZooKeeper) Name() string { return results.ZooKeeper }

// Version implements Contestant.
func (z ZooKeeper) Version() results.Version {
	return results.Version{Name: "ZooKeeper", Version: z.Installation.Version}
}

// Run implements Contestant.
func (z ZooKeeper) Run(ctx context.Context, t Task) (*report.Report, [][]string, error) {
	if t.fails() {
		return z.failover(ctx, t)
	}
	t.Warmup = max(t.Warmup, t.JavaWarmup)
	cluster, err := zookeeper.Start(ctx, z.Installation, t.Dir, t.Hosts, t.LinkDelay)
	if err != nil {
		return nil, nil, err
	}
	defer cluster.Stop()
	return drive(ctx, t, z.Self, "zookeeper", cluster.Endpoints, cluster.Commands())
}

// Redis starts and drives one Redis server.
type Redis struct {
	Self         string // this program, with the driver
	Installation redis.Installation
}

// Name implements Contestant.
func (r Redis) Name() string { return results.Redis }

// Version implements Contestant.
func (r Redis) Version() results.Version {
	return results.Version{Name: "Redis", Version: r.Installation.Version}
}

// Run implements Contestant.
func (r Redis) Run(ctx context.Context, t Task) (*report.Report, [][]string, error) {
	server, err := redis.Start(ctx, r.Installation, t.Dir)
	if err != nil {
		return nil, nil, err
	}
	defer server.Stop()
	t.Settings.Connections = min(t.Settings.Connections, redisConnections)
	return drive(ctx, t, r.Self, "redis", []string{server.Endpoint}, server.Commands())
}

// redisConnections is Redis's best number of connections: a sixth better than 8 with 512 callers.
const redisConnections = 4

// drive runs this program as a peer's load generator.
func drive(ctx context.Context, t Task, self, peer string, endpoints []string, servers [][]string) (*report.Report,
	[][]string, error) {
	command := slices.Concat([]string{self, "drive", peer, "--endpoints", strings.Join(endpoints, ",")}, t.planFlags())
	result, err := output(ctx, t, "driver-of-"+peer, command)
	return result, append(servers, command), err
}

// Floor measures the disk, and bare proposals.
type Floor struct {
	Self string // bench, as the hosts for bare proposals
	Of   string // the log's version
}

// Name implements Contestant.
func (f Floor) Name() string { return results.Floor }

// Version implements Contestant.
func (f Floor) Version() results.Version {
	return results.Version{Name: "bare proposals:", Version: f.Of}
}

// Run implements Contestant.
func (f Floor) Run(ctx context.Context, t Task) (*report.Report, [][]string, error) {
	switch t.Workload {
	case "fsync":
		result, err := floor.Fsync(ctx, t.Dir, t.plan())
		return result, nil, err
	case "proposal":
		return f.proposal(ctx, t)
	}
	return nil, nil, fmt.Errorf("the floor has no workload %q", t.Workload)
}

func (f Floor) proposal(ctx context.Context, t Task) (*report.Report, [][]string, error) {
	command := func(self int, dir string, addresses []string) []string {
		return slices.Concat([]string{
			f.Self, "propose", "--self", fmt.Sprint(self), "--dir", dir, "--members", strings.Join(addresses, ","),
		}, t.planFlags())
	}
	result, err := floor.Proposal(ctx, t.Dir, t.Hosts, command)
	return result, [][]string{command(1, "DIRECTORY", []string{"ADDRESS..."})}, err
}
