package fairshare

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"
)

func party(token string, address int) Party {
	return Party{token, Network(netip.AddrFrom4([4]byte{10, 0, byte(address >> 8), byte(address)}))}
}

// crowd is a test's units, by name.
type crowd struct {
	t     *testing.T
	pool  *Pool
	units map[string]*Unit
	taken []string
}

func newCrowd(t *testing.T, pool *Pool) *crowd {
	return &crowd{t: t, pool: pool, units: make(map[string]*Unit)}
}

func (c *crowd) enter(name string, by Party, s State) bool {
	u := c.pool.Unit(1, func() { c.taken = append(c.taken, name) })
	c.units[name] = u
	return u.Assign(by, s)
}

// enterAll enters so many units, named by their party's token and a number.
func (c *crowd) enterAll(n int, token string, address func(int) int, s State) {
	c.t.Helper()
	for i := range n {
		if !c.enter(fmt.Sprint(token, i), party(token, address(i)), s) {
			c.t.Fatalf("unit %d of %q is refused", i, token)
		}
	}
}

func (c *crowd) expectTaken(what string, names ...string) {
	c.t.Helper()
	if !slices.Equal(c.taken, names) {
		c.t.Errorf("%s: %v are taken, want %v", what, c.taken, names)
	}
	c.taken = nil
}

func one(int) int { return 1 }

func each(i int) int { return 100 + i }

// TestNewcomerReplacesIdleUnitOfTokenThatHoldsAll, from one address and from three, and keeps its unit until its token
// is known.
func TestNewcomerReplacesIdleUnitOfTokenThatHoldsAll(t *testing.T) {
	for what, address := range map[string]func(int) int{"one address": one, "three": func(i int) int { return i % 3 }} {
		c := newCrowd(t, NewPool(90))
		c.enterAll(90, "least", address, Idle)
		for i := range 40 {
			name := fmt.Sprint("new", i)
			if !c.enter(name, party("", 1), Arriving) {
				t.Fatalf("%s: newcomer %d is refused", what, i)
			}
			if !c.units[name].Assign(party("root", 1), Busy) {
				t.Fatalf("%s: newcomer %d is taken", what, i)
			}
		}
		for i, name := range c.taken {
			if name != fmt.Sprint("least", i) {
				t.Fatalf("%s: %v are taken", what, c.taken)
			}
		}
	}
}

// TestManyAddressesWithOneTokenKeepTheirUnits while one address, or a stranger, opens more and more.
func TestManyAddressesWithOneTokenKeepTheirUnits(t *testing.T) {
	c := newCrowd(t, NewPool(100))
	c.enterAll(40, "pods", each, Idle)
	for i := range 200 {
		c.enter(fmt.Sprint("stranger", i), party("", 1), Arriving)
		c.enter(fmt.Sprint("leak", i), party("pods", 2), Idle)
	}
	for i := range 40 {
		if !c.units[fmt.Sprint("pods", i)].Set(Idle) {
			t.Errorf("pod %d has lost its unit", i)
		}
	}
}

// TestManyTokensBehindOneAddressKeepTheirUnits while strangers come from 300 addresses, and one token takes as many
// units as possible.
func TestManyTokensBehindOneAddressKeepTheirUnits(t *testing.T) {
	c := newCrowd(t, NewPool(100))
	for i := range 20 {
		c.enter(fmt.Sprint("program", i), party(fmt.Sprint("token", i), 1), Idle)
	}
	for i := range 2000 {
		c.enter(fmt.Sprint("stranger", i), party("", 100+i%300), Arriving)
		c.enter(fmt.Sprint("greedy", i), party("token0", 1), Idle)
	}
	for i := 1; i < 20; i++ {
		if !c.units[fmt.Sprint("program", i)].Set(Idle) {
			t.Errorf("program %d has lost its unit", i)
		}
	}
}

// TestIdleUnitsAreTakenFirst, then arriving units, and busy units only for a party below its share.
func TestIdleUnitsAreTakenFirst(t *testing.T) {
	c := newCrowd(t, NewPool(6))
	c.enter("busy1", party("a", 1), Busy)
	c.enter("busy2", party("a", 1), Busy)
	c.enter("pinned", party("a", 1), Pinned)
	c.enter("arriving1", party("a", 1), Arriving)
	c.enter("arriving2", party("a", 1), Arriving)
	c.enter("idle", party("a", 1), Idle)
	c.expectTaken("all fit")
	c.enter("b1", party("b", 1), Busy)
	c.expectTaken("one more", "idle")
	c.enter("a1", party("a", 1), Busy)
	c.enter("b2", party("b", 1), Busy)
	c.expectTaken("without an idle one", "arriving1", "arriving2")
	if !c.enter("a2", party("a", 2), Busy) {
		t.Error("another address of the token is refused")
	}
	c.expectTaken("another address of the token", "busy1")
	if c.enter("a3", party("a", 1), Busy) {
		t.Error("a party above its share replaces a busy unit")
	}
	c.enter("b3", party("b", 1), Busy)
	c.expectTaken("a token below its share", "busy2")
	if c.enter("b4", party("b", 1), Busy) {
		t.Error("a token gets more than its share of what others use")
	}
	c.expectTaken("a token at its share")
}

// TestArrivingUnitTakesNothingInUse: an arriving unit may exceed the limit until its token is known, and then has to
// fit.
func TestArrivingUnitTakesNothingInUse(t *testing.T) {
	c := newCrowd(t, NewPool(4))
	c.enterAll(4, "a", one, Busy)
	if !c.enter("x", party("", 1), Arriving) || !c.enter("y", party("", 1), Arriving) {
		t.Fatal("refused")
	}
	c.expectTaken("two arrive")
	if c.units["x"].Assign(party("a", 1), Busy) {
		t.Error("the token exceeds the limit")
	}
	if !c.units["y"].Assign(party("b", 1), Busy) {
		t.Error("another token is refused")
	}
	c.expectTaken("another token has come", "a0")
}

// TestNewcomerOfAnAddressWithManyUnitsInUseStays while other addresses hold more arriving units.
func TestNewcomerOfAnAddressWithManyUnitsInUseStays(t *testing.T) {
	c := newCrowd(t, NewPool(60))
	c.enterAll(22, "", one, Busy)
	for i := range 38 {
		address := 2
		if i >= 22 {
			address = 3
		}
		c.enter(fmt.Sprint("stranger", i), party("", address), Arriving)
	}
	c.enter("newcomer", party("", 1), Arriving)
	c.enter("stranger", party("", 3), Arriving)
	if !c.units["newcomer"].Set(Busy) {
		t.Errorf("the newcomer is taken; %v are", c.taken)
	}
}

// TestFixedPoolRefusesPartiesAboveTheirShare, so that holders do not replace each other in turn.
func TestFixedPoolRefusesPartiesAboveTheirShare(t *testing.T) {
	c := newCrowd(t, NewFixedPool(4))
	c.enterAll(4, "a", one, Idle)
	if c.enter("more", party("a", 1), Idle) {
		t.Error("a party above its share is not refused")
	}
	if !c.enter("b0", party("b", 1), Busy) || !c.enter("b1", party("b", 1), Busy) {
		t.Error("a party below its share is refused")
	}
	c.expectTaken("another token has come", "a0", "a1")
	if got := c.pool.Counts(); got != (Counts{Held: 4, Taken: 2, Refused: 1}) {
		t.Errorf("it counts %+v", got)
	}
}

// TestSizesCount: the largest unit is removed first, and a unit too large for the pool is refused.
func TestSizesCount(t *testing.T) {
	c := newCrowd(t, NewPool(100))
	c.enterAll(2, "a", one, Idle)
	c.enterAll(2, "b", one, Idle)
	c.units["a0"].Resize(40)
	c.units["b1"].Resize(30)
	c.expectTaken("they fit")
	c.units["b0"].Resize(30)
	c.expectTaken("b has more", "b1")
	if c.units["b0"].Resize(200) {
		t.Error("one that is too large stays")
	}
	c.expectTaken("another is too large")
	if held := c.pool.Counts().Held; held != 41 {
		t.Errorf("%d are held", held)
	}
}

func TestNetworksCountByWhatOneClientHas(t *testing.T) {
	for address, counted := range map[string]string{
		"192.0.2.1": "192.0.2.1/32", "2001:db8:1:2:3::4": "2001:db8:1:2::/64",
	} {
		if got := Network(netip.MustParseAddr(address)); got.String() != counted {
			t.Errorf("%s counts as %v", address, got)
		}
	}
}

// twin judges a pool by counting all units again.
type twin struct {
	limit int64
	units map[*Unit]bool
}

// above reports whether a party, its token and its half all hold more than their equal share.
func (t *twin) above(p Party) bool {
	var half, token, address float64
	halves, tokens, addresses := map[bool]bool{}, map[string]bool{}, map[netip.Prefix]bool{}
	for u := range t.units {
		halves[u.party.Token == ""] = true
		if (u.party.Token == "") != (p.Token == "") {
			continue
		}
		half += float64(u.size)
		tokens[u.party.Token] = true
		if u.party.Token != p.Token {
			continue
		}
		token += float64(u.size)
		addresses[u.party.Address] = true
		if u.party.Address == p.Address {
			address += float64(u.size)
		}
	}
	share := float64(t.limit) / float64(len(halves))
	const least = 1e-6
	above := half > share+least
	share /= float64(len(tokens))
	above = above && token > share+least
	return above && address > share/float64(len(addresses))+least
}

func (t *twin) total() (n int64) {
	for u := range t.units {
		n += u.size
	}
	return n
}

// TestNoPartyBelowItsShareLosesAnything, for random operations: a party at or below its share loses no unit and is
// never refused, no unit is taken while all fit, and no busy unit is taken if an idle unit could be.
func TestNoPartyBelowItsShareLosesAnything(t *testing.T) {
	for seed := range uint64(60) {
		random := rand.New(rand.NewPCG(seed, 1))
		pool := NewPool(int64(5 + random.IntN(20)))
		if seed%2 == 1 {
			pool = NewFixedPool(pool.limit)
		}
		w := &twin{pool.limit, make(map[*Unit]bool)}
		var all []*Unit
		anyone := func() Party {
			return party([]string{"", "", "a", "b", "c"}[random.IntN(5)], random.IntN(1+random.IntN(12)))
		}
		largest := 1 + int(seed%4)
		// judge compares one change to u, from the state before the change, with the twin's result.
		judge := func(u *Unit, stays bool, victims []*Unit) {
			t.Helper()
			for _, v := range victims {
				if w.total() <= w.limit {
					t.Fatalf("seed %d: taken while all fit", seed)
				}
				if !w.above(v.party) {
					t.Fatalf("seed %d: taken from %v, which is not above its share", seed, v.party)
				}
				if v == u || v.state == Pinned {
					t.Fatalf("seed %d: the unit itself, or one that is pinned, is taken", seed)
				}
				if v.state == Busy && (u.state != Busy || w.above(u.party)) {
					t.Fatalf("seed %d: a busy unit is taken for %v", seed, u.party)
				}
				for o := range w.units {
					if o != u && o.state < v.state && w.above(o.party) {
						t.Fatalf("seed %d: %v is taken before %v", seed, v.state, o.state)
					}
				}
				delete(w.units, v)
			}
			if !stays {
				if w.total() <= w.limit || !w.above(u.party) {
					t.Fatalf("seed %d: %v is refused, which is not above its share", seed, u.party)
				}
				delete(w.units, u)
			}
			if pool.Counts().Held != w.total() {
				t.Fatalf("seed %d: %d are held, the pool counts %d", seed, w.total(), pool.Counts().Held)
			}
		}
		for range 3000 {
			var victims []*Unit
			for _, o := range all {
				o.end = func() { victims = append(victims, o) }
			}
			if len(all) == 0 || random.IntN(3) == 0 {
				u := pool.Unit(int64(1+random.IntN(largest)), nil)
				w.units[u] = true
				all = append(all, u)
				judge(u, u.Assign(anyone(), State(random.IntN(4))), victims)
			} else {
				u := all[random.IntN(len(all))]
				switch random.IntN(5) {
				case 0:
					u.Leave()
					delete(w.units, u)
				case 1:
					judge(u, u.Resize(int64(1+random.IntN(largest))), victims)
				case 2:
					judge(u, u.Assign(anyone(), State(random.IntN(4))), victims)
				default:
					judge(u, u.Set(State(random.IntN(4))), victims)
				}
			}
			all = slices.DeleteFunc(all, func(u *Unit) bool { return !w.units[u] })
		}
		for _, u := range all {
			u.Leave()
		}
		left := &pool.holders
		if pool.Counts().Held != 0 || len(left.tokens) != 0 || left.withTokens+left.withoutToken != 0 {
			t.Fatalf("seed %d: %d are held by %d tokens", seed, pool.Counts().Held, len(left.tokens))
		}
	}
}
