package twin

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/clock"
	"github.com/signalbox/signalbox/shard/machine"
)

// Generator makes random commands aimed at existing objects: few nodes, sessions and names, so that commands interact;
// numbers, order ids and terms that are mostly correct, and sometimes wrong in each possible way.
type Generator struct {
	random
	shard  uint64
	slots  shard.SlotSet
	bounds machine.Bounds
	nodes  []shard.NodeID
	names  map[shard.NodeID][]candidate

	state   *shard.State               // before the current batch
	numbers map[shard.SessionID]uint64 // highest number used in the batch
	recent  []shard.Command            // the latest mutations, to be sent again
	phase   phase
	left    int             // commands until the next phase
	hoarder shard.SessionID // in a hoarding phase: the session that never acknowledges

	// For a pair of shards that exchange slots: the slots with anything in them, and home sessions of the other shard.
	few    []shard.Slot
	Others []shard.SessionID
}

// candidate is a name used by commands.
type candidate struct {
	name      []byte
	ephemeral bool // mostly
	foreign   bool // slot not served here
}

// phase shifts the weights for a stretch of commands.
type phase int

const (
	phaseMixed    phase = iota
	phaseCrowded        // hardly anything ends: long queues
	phaseChurning       // everything ends soon
	phaseHoarding       // one session never acknowledges, until its answer cache is full
)

const (
	maxRecent    = 64
	fewSessions  = 5
	manySessions = 12
)

// NewGenerator returns a generator. Seed and states determine its output.
func NewGenerator(seed uint64) *Generator {
	g := &Generator{random: newRandom(seed), shard: 1 + seed%shard.MaxShard, names: make(map[shard.NodeID][]candidate)}
	switch g.weighted(25, 50, 25) {
	case 0:
		g.slots = shard.EverySlot()
	case 1:
		g.slots.Add(0, shard.Slots/2-1)
	default:
		for first := shard.Slot(0); first < shard.Slots; first += 256 {
			g.slots.Add(first+63, first+190)
		}
	}
	g.bounds = machine.Bounds{
		Work: shard.MaxWork, SessionLinks: shard.MaxLinksPerSession, AnswerBytes: shard.MaxAnswerBytes,
	}
	if g.chance(700) {
		g.bounds.Work, g.bounds.SessionLinks = g.between(1, 6), g.between(2, 6)
	}
	if g.chance(500) {
		g.bounds.AnswerBytes = g.between(500, 1500)
	}
	g.nodes = []shard.NodeID{shard.NodeID(g.IntN(2)), 2, 1<<64 - 1}
	for _, node := range g.nodes {
		g.nameSome(node, "p", false, 4)
		g.nameSome(node, "e", true, 3)
		g.nameSome(node, strings.Repeat("n", shard.MaxName-1), false, 1)
		g.nameSome(node, "/foo/\xff\x00", true, 1)
	}
	return g
}

// NewPair returns generators for two shards, each with half of the slots. Both aim at the same nodes and names, and at
// each other's sessions, all in few slots.
func NewPair(seed uint64) (pair [2]*Generator, few []shard.Slot) {
	few = []shard.Slot{0, 1, 2047, 2048, 3000, 4095}
	for i := range pair {
		g := NewGenerator(seed)
		g.random, g.few = newRandom(2*seed+uint64(i)), few
		g.shard = 1 + (seed+uint64(i))%shard.MaxShard
		half := shard.Slot(i) * (shard.Slots / 2)
		g.slots = shard.SlotSet{}
		g.slots.Add(half, half+shard.Slots/2-1)
		g.names = make(map[shard.NodeID][]candidate)
		for _, node := range g.nodes {
			for n := 0; len(g.names[node]) < 2*len(few); n++ {
				name := []byte("n" + strconv.Itoa(n))
				if slices.Contains(few, shard.SlotOf(node, name)) {
					g.names[node] = append(g.names[node], candidate{name: name, ephemeral: len(g.names[node])%2 == 0})
				}
			}
		}
		pair[i] = g
	}
	return pair, few
}

// Options returns the options of the machine under test. Its history fills up soon, and its bounds are mostly so small
// that much is pending.
func (g *Generator) Options() machine.Options {
	return machine.Options{Shard: g.shard, Slots: g.slots, History: 64, Bounds: g.bounds}
}

// nameSome adds names with the prefix that are served here, and one that is not, if possible.
func (g *Generator) nameSome(node shard.NodeID, prefix string, ephemeral bool, count int) {
	foreign := g.slots == shard.EverySlot()
	for i := 0; count > 0 || !foreign; i++ {
		name := []byte(prefix + strconv.Itoa(i))
		if len(name) > shard.MaxName {
			// The longest names leave room for a single byte.
			name = append(name[:shard.MaxName-1], byte(i))
		}
		switch served := g.slots.Has(shard.SlotOf(node, name)); {
		case served && count > 0:
			g.names[node] = append(g.names[node], candidate{name: name, ephemeral: ephemeral})
			count--
		case !served && !foreign:
			g.names[node] = append(g.names[node], candidate{name: name, ephemeral: ephemeral, foreign: true})
			foreign = true
		}
	}
}

// Batch makes the next batch, aimed at the state.
func (g *Generator) Batch(state *shard.State) *shard.Batch {
	g.state = state
	g.numbers = make(map[shard.SessionID]uint64)
	size := 1
	if g.chance(500) {
		size = g.between(2, 8)
	}
	b := &shard.Batch{Proposer: g.Uint64N(4), Sequence: g.Uint64(), Stamp: g.stamp()}
	for range size {
		c := g.command()
		if c.Level == 0 {
			c.Level = state.Level
		}
		if c.Kind.TakesTime() && c.Kind != shard.CmdDue && g.chance(900) {
			c.Time = g.Uint64N(1 << 41)
		}
		c.Level = max(c.Level, shard.LevelOf(&c))
		b.Commands = append(b.Commands, c)
	}
	if first := &b.Commands[0]; b.Stamp.Term != 0 && first.Kind == shard.CmdLead && g.chance(800) {
		b.Stamp = clock.Stamp{Term: first.Term} // like a new leader
	}
	return b
}

func (g *Generator) command() shard.Command {
	if g.left == 0 {
		g.nextPhase()
	}
	g.left--
	kinds := []shard.CommandKind{
		shard.CmdAcquire, shard.CmdRelease, shard.CmdSemaphoreCreate, shard.CmdSemaphoreUpdate,
		shard.CmdSemaphoreDelete, shard.CmdSessionCreate, shard.CmdSessionUpdate, shard.CmdSessionEnd,
		shard.CmdSessionsExpire, shard.CmdSessionsForget, shard.CmdWaiterWithdraw, shard.CmdLead, shard.CmdNodeDrop,
		shard.CmdSemaphoreResize, shard.CmdContinue, shard.CmdNodeLimits,
	}
	var weights []int
	switch g.phase {
	case phaseMixed:
		weights = []int{500, 140, 50, 60, 20, 20, 20, 8, 8, 8, 50, 10, 5, 40, 0, 15}
	case phaseCrowded:
		weights = []int{650, 80, 50, 60, 10, 20, 20, 1, 1, 1, 20, 10, 0, 40, 0, 10}
	case phaseChurning:
		weights = []int{400, 140, 50, 60, 30, 80, 20, 30, 30, 30, 60, 20, 15, 40, 0, 25}
	case phaseHoarding:
		weights = []int{700, 200, 50, 50, 10, 1, 1, 0, 0, 0, 10, 2, 0, 20, 0, 2}
	}
	if g.few != nil {
		weights[15] = 0 // the twin does not know the sizes of saved slots
	}
	if len(g.state.Sessions) < fewSessions {
		weights[5] += 150
	} else if len(g.state.Sessions) > manySessions {
		weights[5] /= 4
	}
	if g.isDropping() {
		weights[12] += 60 // so that the phase ends
	}
	if len(g.state.Pending) > 0 {
		weights[14] = 60
	}
	for _, p := range g.state.Pending {
		if p.Deleting && g.chance(80) {
			return shard.Command{Kind: shard.CmdSemaphoreCreate, Node: p.Node, Name: []byte(p.Name), Count: 1}
		}
	}
	if g.chance(50) {
		return shard.Command{Kind: shard.CmdDue, Term: g.term()}
	}
	if group := g.state.Group; group.Number > 0 && g.chance(20) {
		return g.groupWait(group)
	}
	if g.chance(20) {
		return g.sessionNumbers()
	}
	if g.chance(5) {
		return g.aboutLevels()
	}
	kind := kinds[g.weighted(weights...)]
	if playsExchange() && g.chance(40) {
		kind = CmdExchange
	}
	switch kind {
	case shard.CmdLead:
		return g.lead()
	case shard.CmdSessionCreate:
		return g.sessionCreate()
	case shard.CmdSessionUpdate:
		return g.sessionUpdate()
	case shard.CmdSessionEnd:
		return g.sessionEnd()
	case shard.CmdSessionsExpire, shard.CmdSessionsForget:
		return g.sessionsEnd(kind)
	case shard.CmdWaiterWithdraw:
		return g.waiterWithdraw()
	case shard.CmdNodeDrop:
		return g.nodeDrop()
	case shard.CmdNodeLimits:
		return g.nodeLimits()
	case shard.CmdContinue:
		return shard.Command{Kind: shard.CmdContinue}
	}
	c := g.mutationOrAgain(kind)
	if g.chance(5) {
		c.Level = level.Newest + 1 // like a proposer above the shard's level
	}
	return c
}

func (g *Generator) nextPhase() {
	g.phase = phase(g.weighted(40, 30, 25, 5))
	g.left = g.between(50, 300)
	if g.phase != phaseHoarding {
		return
	}
	if len(g.state.Sessions) == 0 {
		g.phase = phaseMixed
		return
	}
	g.hoarder = oneOf(g.random, g.state.Sessions).ID
	g.left = 2 * shard.MaxUnacknowledged
}

func (g *Generator) isDropping() bool {
	for _, n := range g.state.Nodes {
		if n.Dropping {
			return true
		}
	}
	return false
}

// random draws numbers. Equal seeds draw equal numbers.
type random struct{ *rand.Rand }

func newRandom(seed uint64) random { return random{rand.New(rand.NewPCG(seed, 0x7369676e616c626f))} }

// chance is true in perMille of a thousand cases.
func (r random) chance(perMille int) bool { return r.IntN(1000) < perMille }

// between draws from low to high, both included.
func (r random) between(low, high int) int { return low + r.IntN(high-low+1) }

// weighted draws an index, with the given weights.
func (r random) weighted(weights ...int) int {
	sum := 0
	for _, w := range weights {
		sum += w
	}
	n := r.IntN(sum)
	for i, w := range weights {
		if n < w {
			return i
		}
		n -= w
	}
	panic("twin: weights do not add up")
}

// oneOf draws one of the elements.
func oneOf[T any](r random, list []T) T { return list[r.IntN(len(list))] }
