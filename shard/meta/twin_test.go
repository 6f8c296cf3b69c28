package meta

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/clock"
)

// twin is a second meta machine, written from DESIGN.md: slow, obvious, made of maps, keeping every config that a node
// ever had and computing everything else from scratch.
type twin struct {
	version  uint64
	lastNode shard.NodeID
	nodes    map[string]*twinNode
	dropped  map[shard.NodeID]*twinDropped
	hosts    map[shard.HostID]Host
	cluster  string
	shards   map[ShardID]bool
	slots    [shard.Slots]ShardID
	routing  uint64
	level    level.Level
	stamp    clock.Stamp // of the batch
	term     uint64
	now      uint64
	base     uint64
	answered []twinAnswer // all answers ever, including forgotten ones
	fresh    bool         // the latest answer belongs to the latest command
}

type twinNode struct {
	id        shard.NodeID
	configs   []Config // configs[i] has version i+1
	made      []uint64 // made[i] is the machine's version at which configs[i] was set
	confirmed int      // the confirmed version, as a place in configs
}

type twinDropped struct {
	version uint64
	pending map[ShardID]bool
}

func newTwin() *twin {
	return &twin{
		level: level.First, nodes: map[string]*twinNode{}, dropped: map[shard.NodeID]*twinDropped{},
		hosts: map[shard.HostID]Host{}, shards: map[ShardID]bool{},
	}
}

// node is the machine's expected node.
func (n *twinNode) node(path string) Node {
	last := len(n.configs) - 1
	e := n.configs[last].Effective()
	t := Timing{1, e.SessionGracePeriodMillis, e.SessionGracePeriodMillis, e.SelfCheckPeriodMillis}
	for i, c := range n.configs {
		e := c.Effective()
		if i > 0 {
			before := n.configs[i-1].Effective()
			if before.SelfCheckPeriodMillis != e.SelfCheckPeriodMillis ||
				before.SessionGracePeriodMillis != e.SessionGracePeriodMillis {
				t.Since = uint64(i + 1)
			}
		}
		if i >= n.confirmed {
			t.GraceFloorMillis = max(t.GraceFloorMillis, e.SessionGracePeriodMillis)
			t.GraceCeilingMillis = min(t.GraceCeilingMillis, e.SessionGracePeriodMillis)
			t.SelfCheckCeilingMillis = min(t.SelfCheckCeilingMillis, e.SelfCheckPeriodMillis)
		}
	}
	return Node{
		ID: n.id, Path: path, Config: n.configs[last], Version: uint64(last + 1), Timing: t, Timed: n.made[t.Since-1],
	}
}

// state is the machine's expected state.
func (t *twin) state() State {
	s := State{
		Version: t.version, LastNode: t.lastNode, Level: t.level, Term: t.term, Now: t.now, TimeBase: t.base,
		NextAnswer: uint64(len(t.answered) + 1), Answers: t.kept(),
	}
	if t.routing > 0 {
		s.Routing = Routing{Version: t.routing, Cluster: t.cluster, Shards: slices.Sorted(maps.Keys(t.shards))}
		for slot := range shard.Slots {
			if slot > 0 && t.slots[slot] == t.slots[slot-1] {
				s.Routing.Ranges[len(s.Routing.Ranges)-1].Last = shard.Slot(slot)
			} else {
				s.Routing.Ranges = append(s.Routing.Ranges,
					SlotRange{shard.Slot(slot), shard.Slot(slot), t.slots[slot], 0})
			}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(t.hosts)) {
		s.Hosts = append(s.Hosts, t.hosts[id])
	}
	for _, path := range slices.Sorted(maps.Keys(t.nodes)) {
		s.Nodes = append(s.Nodes, t.nodes[path].node(path))
	}
	for _, id := range slices.Sorted(maps.Keys(t.dropped)) {
		d := t.dropped[id]
		s.Dropping = append(s.Dropping, Dropped{id, d.version, slices.Sorted(maps.Keys(d.pending))})
	}
	return s
}

var (
	twinPart = regexp.MustCompile(`^[!-.0-~]{1,255}$`)
	twinDots = regexp.MustCompile(`^\.*$`)
	twinWord = regexp.MustCompile(`^[!-~]*$`)
)

func twinPath(s string) (string, bool) {
	parts := strings.FieldsFunc(s, func(r rune) bool { return r == '/' })
	for _, p := range parts {
		if !twinPart.MatchString(p) || twinDots.MatchString(p) {
			return "", false
		}
	}
	path := "/" + strings.Join(parts, "/")
	return path, len(parts) >= 1 && len(parts) <= 32 && len(path) <= 1024
}

func twinConfig(c Config) bool {
	e := c.Effective()
	return e.SelfCheckPeriodMillis >= 500 && e.SelfCheckPeriodMillis <= 10_000 &&
		e.SessionGracePeriodMillis >= 1000 && e.SessionGracePeriodMillis <= 30_000 &&
		e.SessionGracePeriodMillis > e.SelfCheckPeriodMillis &&
		e.ReadConsistency <= 2 && e.AttachConsistency <= 2 && e.RateLimiterCountersMode <= 2 &&
		e.QuotaObjects >= 1 && e.QuotaObjects <= 1_000_000 && e.QuotaBytes >= 1<<20 && e.QuotaBytes <= 1<<40
}

func (t *twin) byID(id shard.NodeID) (string, *twinNode) {
	for path, n := range t.nodes {
		if n.id == id {
			return path, n
		}
	}
	return "", nil
}

// answer is the twin's prediction for a command: the result without its message, and the kind of the following event.
type answer struct {
	status  protocol.Status
	flags   EffectFlags
	node    Node
	routing uint64
	event   EffectKind
	message string // of a cached result
}

func failed(s protocol.Status) answer { return answer{status: s} }

func (t *twin) apply(c *Command) answer {
	a := t.numbered(c)
	if a.flags&FlagChanged != 0 {
		t.version++
	}
	return a
}

func (t *twin) execute(c *Command) answer {
	switch c.Kind {
	case CmdNodeCreate:
		return t.create(c)
	case CmdNodeAlter, CmdNodeDrop:
		return t.alterOrDrop(c)
	case CmdGraceConfirmed:
		return t.confirmed(c)
	case CmdNodeCleared:
		return t.cleared(c)
	case CmdHostRegister:
		return t.register(c)
	case CmdHostObservation:
		return t.seen(c)
	case CmdRoutingInit:
		return t.bootstrap(c)
	case CmdClusterLevel:
		return t.raise(c)
	case CmdLead:
		return t.lead(c)
	}
	return answer{} // digests
}

// begin applies a batch's stamp before its commands.
func (t *twin) begin(s clock.Stamp) {
	t.stamp = s
	if s.Term != 0 && s.Term == t.term {
		t.now = max(t.now, t.base+s.Elapsed)
	}
}

func (t *twin) lead(c *Command) answer {
	if c.Term < t.term {
		return failed(protocol.StatusStale)
	}
	if c.Term > t.term {
		t.term, t.base = c.Term, t.now
	}
	return answer{}
}

func (t *twin) raise(c *Command) answer {
	if c.Raise == 0 {
		return failed(protocol.StatusBadRequest)
	}
	if c.Raise <= t.level {
		return answer{flags: FlagExisted}
	}
	able := len(t.hosts) > 0
	for _, h := range t.hosts {
		able = able && h.Level >= c.Raise
	}
	if !able {
		return failed(protocol.StatusPreconditionFailed)
	}
	t.level = c.Raise
	return answer{flags: FlagChanged, event: EffectLevelChanged}
}

func (t *twin) create(c *Command) answer {
	path, good := twinPath(c.Path)
	if !good || !twinConfig(c.Config) {
		return failed(protocol.StatusBadRequest)
	}
	if n := t.nodes[path]; n != nil {
		return answer{flags: FlagExisted, node: n.node(path)}
	}
	t.lastNode++
	n := &twinNode{id: t.lastNode, configs: []Config{c.Config}, made: []uint64{t.version + 1}}
	t.nodes[path] = n
	return answer{flags: FlagChanged, node: n.node(path), event: EffectNodeChanged}
}

func (t *twin) alterOrDrop(c *Command) answer {
	var path string
	var n *twinNode
	if c.Path == "" {
		if c.Node == 0 {
			return failed(protocol.StatusBadRequest)
		}
		path, n = t.byID(c.Node)
	} else {
		var good bool
		if path, good = twinPath(c.Path); !good {
			return failed(protocol.StatusBadRequest)
		}
		n = t.nodes[path]
	}
	if n == nil || c.Node != 0 && c.Node != n.id {
		return failed(protocol.StatusNotFound)
	}
	before := n.node(path)
	if c.Kind == CmdNodeDrop {
		delete(t.nodes, path)
		if len(t.shards) > 0 {
			t.dropped[n.id] = &twinDropped{version: t.version + 1, pending: maps.Clone(t.shards)}
		}
		return answer{flags: FlagChanged, node: before, event: EffectNodeDropped}
	}
	if c.Expected != 0 && c.Expected != before.Version {
		return answer{status: protocol.StatusPreconditionFailed, node: before}
	}
	next := before.Config.Merge(c.Config)
	if !twinConfig(next) {
		return failed(protocol.StatusBadRequest)
	}
	if next == before.Config {
		return answer{node: before}
	}
	n.configs, n.made = append(n.configs, next), append(n.made, t.version+1)
	return answer{flags: FlagChanged, node: n.node(path), event: EffectNodeChanged}
}

func (t *twin) confirmed(c *Command) answer {
	if c.Node == 0 || c.Expected == 0 {
		return failed(protocol.StatusBadRequest)
	}
	path, n := t.byID(c.Node)
	if n == nil {
		return failed(protocol.StatusNotFound)
	}
	before := n.node(path)
	if c.Expected > before.Version || c.Expected < before.Timing.Since {
		return failed(protocol.StatusPreconditionFailed)
	}
	n.confirmed = max(n.confirmed, int(c.Expected)-1)
	if after := n.node(path); after != before {
		return answer{flags: FlagChanged, node: after, event: EffectNodeChanged}
	}
	return answer{node: before}
}

func (t *twin) cleared(c *Command) answer {
	if c.Node == 0 || c.Shard == 0 {
		return failed(protocol.StatusBadRequest)
	}
	if !t.shards[c.Shard] {
		return failed(protocol.StatusPreconditionFailed)
	}
	if c.Node > t.lastNode {
		return failed(protocol.StatusNotFound)
	}
	if _, n := t.byID(c.Node); n != nil {
		return failed(protocol.StatusPreconditionFailed)
	}
	d := t.dropped[c.Node]
	if d == nil || !d.pending[c.Shard] {
		return answer{}
	}
	delete(d.pending, c.Shard)
	if len(d.pending) == 0 {
		delete(t.dropped, c.Node)
	}
	return answer{flags: FlagChanged}
}

func (t *twin) register(c *Command) answer {
	h := c.Host
	for _, f := range []struct {
		s           string
		least, most int
	}{
		{h.Name, 1, 256}, {h.RaftAddress, 1, 512}, {h.ClientAddress, 1, 512}, {h.AdminAddress, 0, 512},
		{h.Version, 0, 64},
	} {
		if len(f.s) < f.least || len(f.s) > f.most || !twinWord.MatchString(f.s) {
			return failed(protocol.StatusBadRequest)
		}
	}
	if h.ID == 0 {
		return failed(protocol.StatusBadRequest)
	}
	for _, other := range t.hosts {
		if (other.ID == h.ID) != (other.Name == h.Name) {
			return failed(protocol.StatusPreconditionFailed)
		}
	}
	if h.Level < t.level {
		return failed(protocol.StatusPreconditionFailed)
	}
	h.Current, h.Target = protocol.HostOnline, protocol.HostOnline
	old, existed := t.hosts[h.ID]
	flags := EffectFlags(0)
	if existed {
		flags = FlagExisted
		h.Changed, h.Seen = old.Changed, old.Seen
		if h == old {
			return answer{flags: flags}
		}
	}
	if !existed {
		h.Seen = 0
	}
	h.Changed = t.version + 1
	t.hosts[h.ID] = h
	return answer{flags: flags | FlagChanged, event: EffectHostsChanged}
}

func (t *twin) seen(c *Command) answer {
	if c.Host.ID == 0 || c.Expected == 0 {
		return failed(protocol.StatusBadRequest)
	}
	h, known := t.hosts[c.Host.ID]
	if !known {
		return failed(protocol.StatusNotFound)
	}
	if c.Expected > t.version {
		return failed(protocol.StatusPreconditionFailed)
	}
	if c.Expected <= h.Seen {
		return answer{}
	}
	h.Seen = c.Expected
	t.hosts[h.ID] = h
	return answer{flags: FlagChanged, event: EffectHostObservation}
}

func (t *twin) bootstrap(c *Command) answer {
	given := map[ShardID]bool{}
	for _, id := range c.Shards {
		given[id] = true
	}
	n := len(c.Shards)
	if c.Cluster == "" || len(c.Cluster) > 64 || !twinWord.MatchString(c.Cluster) || n < 1 || n > 256 || given[0] ||
		len(given) != n {
		return failed(protocol.StatusBadRequest)
	}
	if t.routing > 0 {
		if c.Cluster != t.cluster || !maps.Equal(given, t.shards) {
			return failed(protocol.StatusPreconditionFailed)
		}
		return answer{flags: FlagExisted, routing: t.routing}
	}
	t.cluster, t.shards, t.routing = c.Cluster, given, 1
	for i, id := range slices.Sorted(maps.Keys(given)) {
		for slot := i * 4096 / n; slot < (i+1)*4096/n; slot++ {
			t.slots[slot] = id
		}
	}
	return answer{flags: FlagChanged, routing: 1, event: EffectRoutingChanged}
}
