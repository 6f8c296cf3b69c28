package protocol

import (
	"bytes"
	"encoding/hex"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/signalbox/signalbox/protocol/field"
	kind "github.com/signalbox/signalbox/protocol/rollout"
)

// picture is a field.Coder that renders written fields as the tree of renderStruct.
type picture struct{ tree map[string]any }

func renderSaid(v field.Value) map[string]any {
	p := &picture{tree: map[string]any{}}
	v.Fields(p)
	return p.tree
}

func (p *picture) Text(name string, v *string, _ int)        { p.tree[name] = *v }
func (p *picture) Bytes(name string, v *[]byte, _ int)       { p.tree[name] = hex.EncodeToString(*v) }
func (p *picture) Number(name string, v *uint64)             { p.tree[name] = *v }
func (p *picture) Count(name string, v *int)                 { p.tree[name] = uint64(*v) }
func (p *picture) Millis(name string, v *time.Duration)      { p.tree[name] = field.MillisOf(*v) }
func (p *picture) Flag(name string, v *bool)                 { p.tree[name] = *v }
func (p *picture) Small(name string, v, _ uint8) uint8       { p.tree[name] = uint64(v); return v }
func (p *picture) Record(name string, f func(c field.Coder)) { p.tree[name] = inside(f) }
func (p *picture) Reading() bool                             { return false }
func (p *picture) Form() field.Form                          { return field.Wire }

func (p *picture) Left(name string, v *time.Duration) bool {
	p.tree[name] = field.MillisOf(*v)
	return *v != 0
}

func (p *picture) Moment(name string, v *field.Timestamp) {
	shard, _ := v.Millis()
	p.tree[name] = shard
}

func (p *picture) Wall(name string, v *field.Timestamp) {
	_, wall := v.Millis()
	p.tree[name] = wall
}

func inside(fields func(c field.Coder)) map[string]any {
	p := &picture{tree: map[string]any{}}
	fields(p)
	return p.tree
}

func (p *picture) Words(name string, v *[]string, _, _ int) {
	items := []any{}
	for _, s := range *v {
		items = append(items, s)
	}
	p.tree[name] = items
}

func (p *picture) Numbers(name string, v *[]uint64, _ int) {
	items := []any{}
	for _, n := range *v {
		items = append(items, n)
	}
	p.tree[name] = items
}

func (p *picture) Items(name string, n, _ int, _ func(int), item func(field.Coder, int)) {
	items := []any{}
	for i := range n {
		items = append(items, inside(func(c field.Coder) { item(c, i) }))
	}
	p.tree[name] = items
}

// chance is a field.Coder that fills three in four fields, as randomStruct does.
type chance struct{ *rand.Rand }

func randomSaid(r *rand.Rand, v field.Value) { v.Fields(&chance{r}) }

func (c *chance) lucky() bool { return c.IntN(4) > 0 }

func (c *chance) text(most int) string {
	return strings.ToValidUTF8(strings.Repeat("aß語", 40)[:c.IntN(min(most, 240)+1)], "")
}

func (c *chance) Text(_ string, v *string, most int) {
	if c.lucky() {
		*v = c.text(most)
	}
}

func (c *chance) Bytes(_ string, v *[]byte, most int) {
	if n := c.IntN(min(most, 300) + 1); c.lucky() && n > 0 {
		*v = bytes.Repeat([]byte{byte(c.Uint32())}, n)
	}
}

func (c *chance) Number(_ string, v *uint64) {
	if c.lucky() {
		*v = randomUint(c.Rand, "")
	}
}

func (c *chance) Count(_ string, v *int) {
	if c.lucky() {
		*v = int(randomUint(c.Rand, ""))
	}
}

func (c *chance) Millis(_ string, v *time.Duration) {
	if c.lucky() {
		*v = field.Duration(randomUint(c.Rand, ""))
	}
}

func (c *chance) Moment(_ string, v *field.Timestamp) {
	if c.lucky() {
		*v = field.At(randomUint(c.Rand, ""), 0)
	}
}

func (c *chance) Wall(_ string, v *field.Timestamp) {
	if shard, _ := v.Millis(); c.lucky() {
		*v = field.At(shard, randomUint(c.Rand, ""))
	}
}

func (c *chance) Left(name string, v *time.Duration) bool {
	c.Millis(name, v)
	return *v != 0
}

func (c *chance) Flag(_ string, v *bool) { *v = c.lucky() }

func (c *chance) Small(_ string, _, _ uint8) uint8 { return uint8(c.Uint32()) }

func (c *chance) Record(_ string, fields func(field.Coder)) { fields(c) }

func (c *chance) Words(_ string, v *[]string, _, each int) {
	for range c.IntN(40) {
		*v = append(*v, c.text(each))
	}
}

func (c *chance) Numbers(_ string, v *[]uint64, _ int) {
	for range c.IntN(40) {
		*v = append(*v, randomUint(c.Rand, ""))
	}
}

func (c *chance) Items(_ string, _, _ int, size func(int), item func(field.Coder, int)) {
	n := c.IntN(40)
	size(n)
	for i := range n {
		item(c, i)
	}
}

func (c *chance) Reading() bool { return true }

func (c *chance) Form() field.Form { return field.Wire }

// TestAListOfAPeerMakesNoMoreThanItsBoundItems: a one-byte item may decode to a large struct. Items above the bound are
// skipped, but enough are decoded for a check to refuse the list.
func TestAListOfAPeerMakesNoMoreThanItsBoundItems(t *testing.T) {
	const items = 100_000
	record := append([]byte{0x91, 0xdd, 0, 1, 0x86, 0xa0}, bytes.Repeat([]byte{0x90}, items)...)
	c := newCodec()
	c.startReading(append(record, 7))
	c.left = 1
	var spec kind.Spec
	c.value("spec", &spec)
	if c.err != nil || len(spec.Locations) != mostItems || c.rest() != 1 {
		t.Fatalf("%v: %d locations were made, %d bytes are left", c.err, len(spec.Locations), c.rest())
	}
	if wrong := spec.Check(); !strings.Contains(wrong, "1 to 32 locations") {
		t.Errorf("the check says %q", wrong)
	}
}

// TestACountAboveTheRangeOfIntIsRefusedAsTheNumberThatItIs: shards store the error text.
func TestACountAboveTheRangeOfIntIsRefusedAsTheNumberThatItIs(t *testing.T) {
	spec := kind.Spec{Locations: []kind.Location{{Name: "sas"}}}.WithDefaults()
	spec.KeepVersions = -1
	const want = "a rollout keeps 4 to 1024 versions, not 18446744073709551615"
	if got := spec.Check(); got != want {
		t.Errorf("got %q", got)
	}
	for _, change := range []func(*kind.Spec){
		func(s *kind.Spec) { s.Reelect.Most = -1 }, func(s *kind.Spec) { s.Reelect.Attempts = -1 },
		func(s *kind.Spec) { s.Locations[0].Require = -1 }, func(s *kind.Spec) { s.Locations[0].MaxFailing = -1 },
	} {
		wrong := kind.Spec{Locations: []kind.Location{{Name: "sas"}}}.WithDefaults()
		if change(&wrong); wrong.Check() == "" {
			t.Errorf("%+v passes", wrong)
		}
	}
}
