package raftlog

import (
	"bufio"
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
	"testing"
	"time"

	"github.com/lni/dragonboat/v4"
	"github.com/lni/dragonboat/v4/tools"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/raftlog/transport"
)

// actor is a process that executes actions from its standard input, one per line, and reports completion. It is killed
// between actions. Its arguments are a directory, its host id, and the addresses of all hosts, the first being the only
// initial member.
type actor struct {
	config   Config
	network  transport.Config
	peers    *transport.Transport
	host     *Host
	logs     map[uint64]shard.Log
	machines map[uint64]*recorder
}

func actUntilKilled() {
	id, err := strconv.ParseUint(os.Args[2], 10, 32)
	if err != nil {
		panic(err)
	}
	a := &actor{
		config: Config{
			Host: shard.HostID(id), Incarnation: incarnationOf(shard.HostID(id)), DataDir: os.Args[1],
			InitialMembers: initialMembersOf(1), Deployment: 42,
			SnapshotBytes: 20 * BatchBytes, KeepBytes: 5 * BatchBytes,
			Workers:         1, // an import does not read the number from the directory
			ProposalTimeout: patience, BarrierTimeout: patience / 3,
		}.withDefaults(),
		logs: make(map[uint64]shard.Log), machines: make(map[uint64]*recorder),
	}
	a.network.Identity = transport.Identity{
		Host: a.config.Host, Incarnation: a.config.Incarnation, Deployment: a.config.Deployment,
	}
	for i, address := range os.Args[3:] {
		id := shard.HostID(i + 1)
		a.network.Hosts = append(a.network.Hosts,
			transport.Host{ID: id, Incarnation: incarnationOf(id), Address: address})
	}
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		if err := a.do(strings.Fields(lines.Text())); err != nil {
			fmt.Println("error:", err)
			continue
		}
		fmt.Println("done")
	}
}

// do executes an action: its name, and mostly a shard and further arguments.
func (a *actor) do(act []string) (err error) {
	number := func(i int) uint64 {
		n, failed := strconv.ParseUint(act[i], 10, 64)
		err = errors.Join(err, failed)
		return n
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	switch act[0] {
	case "open":
		err = a.open()
	case "close":
		err = errors.Join(a.host.Close(), a.peers.Close())
	case "start":
		a.machines[number(1)] = newRecorder()
		a.logs[number(1)], err = a.host.Start(number(1), a.machines[number(1)], 1)
	case "join":
		a.machines[number(1)] = newRecorder()
		a.logs[number(1)], err = a.host.Join(number(1), number(2), a.machines[number(1)])
	case "stop":
		err = a.logs[number(1)].Close()
	case "propose":
		for i := number(2); i < number(3) && err == nil; i++ {
			err = a.propose(ctx, a.logs[number(1)], fmt.Sprint(i))
		}
	case "has":
		err = a.has(ctx, number(1), number(2))
	case "discard":
		err = a.host.Discard(ctx, number(1), number(2))
	case "lacks":
		if a.host.engine.HasNodeInfo(number(1), number(2)) {
			err = errors.New("it is still there")
		}
	case "learner", "voter", "remove":
		err = a.change(ctx, act[0], a.logs[number(1)].(*Log), number(2))
	case "export":
		err = a.export(ctx, number(1), act[2])
	case "import":
		err = a.importFrom(act[1])
	default:
		err = errors.New("no such act")
	}
	return err
}

// propose proposes a batch until it is applied. Killed processes may have caused the election of another host, which is
// then asked to hand over. A batch with an unknown outcome meanwhile may be applied too, so twice in total.
func (a *actor) propose(ctx context.Context, l shard.Log, batch string) error {
	for proposeTo(l, batch) != shard.OutcomeApplied {
		if ctx.Err() != nil {
			return fmt.Errorf("propose %s: %w", batch, ctx.Err())
		}
		a.lead(l)
	}
	return nil
}

// lead asks another leading host to hand over.
func (a *actor) lead(l shard.Log) {
	if leader := l.Leadership().Leader; leader != 0 && leader != a.config.Host {
		_ = l.Transfer(a.config.Host)
	}
	time.Sleep(time.Millisecond)
}

// has waits until the replica has applied the batches before a number in their order, and nothing else.
func (a *actor) has(ctx context.Context, shardID, batches uint64) error {
	machine := a.machines[shardID]
	for uint64(len(distinct(machine.applied()))) < batches {
		if ctx.Err() != nil {
			return fmt.Errorf("it has %d batches of %d", len(distinct(machine.applied())), batches)
		}
		time.Sleep(time.Millisecond)
	}
	for i, batch := range distinct(machine.applied()) {
		if batch != fmt.Sprint(i) || uint64(i) >= batches {
			return fmt.Errorf("batch %d of %d is %q", i, batches, batch)
		}
	}
	return nil
}

// distinct returns the batches without duplicates (see propose).
func distinct(batches []string) (first []string) {
	for _, batch := range batches {
		if !slices.Contains(first, batch) {
			first = append(first, batch)
		}
	}
	return first
}

// open opens the host with its transport.
func (a *actor) open() (err error) {
	if a.network.Listener, err = net.Listen("tcp", a.network.Hosts[a.config.Host-1].Address); err != nil {
		return err
	}
	a.peers = transport.Open(a.network)
	a.config.Transport = a.peers
	a.host, err = Open(a.config)
	return err
}

// change makes host 2's replica a learner or a voter of a shard, or removes it, with retries.
func (a *actor) change(ctx context.Context, what string, l *Log, replica uint64) error {
	for {
		m, err := l.Membership(ctx)
		p := m.Member(replica)
		switch {
		case err != nil:
		case what == "learner" && p != nil, what == "voter" && p != nil && p.Voter,
			what == "remove" && p == nil:
			return nil
		case what == "learner":
			err = l.AddLearner(ctx, replica, 2, incarnationOf(2), m.Change)
		case what == "voter":
			err = l.Promote(ctx, replica, m.Change)
		default:
			err = l.Remove(ctx, replica, m.Change)
		}
		if ctx.Err() != nil || errors.Is(err, shard.ErrMembershipRule) {
			return errors.Join(ctx.Err(), err)
		}
		a.lead(l)
	}
}

// export saves a snapshot in a directory. The engine refuses during its own snapshots, and without a leader.
func (a *actor) export(ctx context.Context, shardID uint64, dir string) error {
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return err
	}
	if err := a.apply(ctx, shardID); err != nil { // else the engine finds no members, and stops the process
		return err
	}
	option := dragonboat.SnapshotOption{Exported: true, ExportPath: dir}
	for {
		_, err := a.host.engine.SyncRequestSnapshot(ctx, shardID, option)
		if err == nil || ctx.Err() != nil {
			return err
		}
		time.Sleep(time.Millisecond)
	}
}

// apply waits until the replica has applied all committed entries.
func (a *actor) apply(ctx context.Context, shardID uint64) error {
	for {
		applied := make(chan error, 1)
		err := a.logs[shardID].Barrier(func(err error) { applied <- err })
		if err == nil {
			err = <-applied
		}
		if err == nil || ctx.Err() != nil {
			return err
		}
		time.Sleep(time.Millisecond)
	}
}

// importFrom replaces a closed host's shard data by an exported snapshot.
func (a *actor) importFrom(dir string) error {
	found, err := filepath.Glob(filepath.Join(dir, "snapshot-*"))
	if err != nil || len(found) != 1 {
		return fmt.Errorf("exported snapshots: %v, %w", found, err)
	}
	disk := systemDisk()
	c := a.config.engineConfig(nil, nil, disk, disk.store(a.config))
	return tools.ImportSnapshot(c, found[0], map[uint64]string{1: a.config.target().String()}, uint64(a.config.Host))
}

// act is an action for one of the processes.
type act struct {
	who   int // the host
	what  string
	until string // the act after which a new process does not do this one again; "once": none ever does
}

// performance runs actions, with new processes after one of them.
type performance struct {
	t         *testing.T
	acts      []act
	dir       string
	addresses []string
	running   map[int]*performer
}

type performer struct {
	cmd   *exec.Cmd
	in    io.Writer
	lines *bufio.Reader
}

// perform runs the actions in order, and kills all processes after some of them.
func perform(t *testing.T, dir string, hosts int, acts []act, killAfter int) {
	p := &performance{t: t, acts: acts, dir: dir, running: make(map[int]*performer)}
	for range hosts {
		p.addresses = append(p.addresses, freeAddress(t))
	}
	t.Cleanup(p.kill)
	for i, a := range acts {
		if i == killAfter {
			p.kill()
			p.resume(i)
		}
		p.do(a)
	}
}

func (p *performance) kill() {
	for _, r := range p.running {
		_ = r.cmd.Process.Kill()
		_ = r.cmd.Wait()
	}
	clear(p.running)
}

// resume repeats each process's start actions: unfinished ones among the first actions.
func (p *performance) resume(count int) {
	for i, a := range p.acts[:count] {
		over := a.until == "once"
		for _, later := range p.acts[i:count] {
			over = over || later.who == a.who && later.what == a.until
		}
		if !over {
			p.do(a)
		}
	}
}

func (p *performance) do(a act) {
	p.t.Helper()
	r := p.running[a.who]
	if r == nil {
		r = p.begin(a.who)
	}
	if _, err := fmt.Fprintln(r.in, a.what); err != nil {
		p.t.Fatal(err)
	}
	for {
		line, err := r.lines.ReadString('\n')
		switch {
		case line == "done\n":
			return
		case err != nil || strings.HasPrefix(line, "error:"):
			p.t.Fatalf("host %d, %s: %s %v %s", a.who, a.what, line, err, r.cmd.Stderr)
		}
	}
}

func (p *performance) begin(who int) *performer {
	p.t.Helper()
	program, err := os.Executable()
	if err != nil {
		p.t.Fatal(err)
	}
	dir := filepath.Join(p.dir, fmt.Sprint("host", who))
	r := &performer{cmd: exec.Command(program, append([]string{dir, fmt.Sprint(who)}, p.addresses...)...)}
	r.cmd.Env = append(os.Environ(), crashRole+"=act")
	r.cmd.Stderr = new(strings.Builder)
	out, err := r.cmd.StdoutPipe()
	if err == nil {
		r.in, err = r.cmd.StdinPipe()
	}
	if err == nil {
		err = r.cmd.Start()
	}
	if err != nil {
		p.t.Fatal(err)
	}
	r.lines = bufio.NewReader(out)
	p.running[who] = r
	return r
}
