package access

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/signalbox/signalbox/protocol"
)

// naive decides according to DESIGN.md: some rule allows it.
func naive(rules []Rule, path, object string, need protocol.Right) bool {
	for _, r := range rules {
		rights := r.Rights
		if r.Path != "/" {
			rights &^= protocol.RightCluster | protocol.RightBackup
		}
		if r.Object != "" {
			rights &^= protocol.RightCluster | protocol.RightBackup | protocol.RightAdmin
		}
		covers := path == "" || r.Path == "/" || path == r.Path || strings.HasPrefix(path, r.Path+"/")
		switch {
		case path == "" || r.Object == "":
		case object == "":
			rights &= protocol.RightRead | protocol.RightAcquire | protocol.RightWrite
		case !strings.HasPrefix(object, r.Object):
			rights = 0
		}
		if covers && rights&need != 0 {
			return true
		}
	}
	return false
}

// drawer draws related rules and questions.
type drawer struct{ *rand.Rand }

func (d drawer) of(list ...string) string { return list[d.IntN(len(list))] }

func (d drawer) path() string {
	if d.IntN(8) == 0 {
		return "/"
	}
	path := ""
	for range 1 + d.IntN(3) {
		path += "/" + d.of("a", "ab", "b", "a-b")
	}
	return path
}

func (d drawer) object() string { return d.of("", "", "", "n", "night", "nightly-", "x") }

func (d drawer) rule() Rule {
	return Rule{Path: d.path(), Object: d.object(), Rights: protocol.Right(1 + d.IntN(int(protocol.RightAll)))}
}

func TestASetAllowsWhatSomeRuleAllows(t *testing.T) {
	d := drawer{rand.New(rand.NewPCG(1, 2))}
	allowed, asked := 0, 0
	for range 5_000 {
		rules := make([]Rule, d.IntN(12))
		for i := range rules {
			rules[i] = d.rule()
			rules[i].Rights = 1 << d.IntN(8)
		}
		s := NewSet(rules...)
		for range 20 {
			path, object, need := d.path(), d.object(), protocol.Right(1<<d.IntN(8))
			if d.IntN(10) == 0 {
				path = ""
			}
			if d.IntN(5) == 0 {
				need |= 1 << d.IntN(8)
			}
			want := naive(rules, path, object, need)
			if got := s.Allows(path, object, need); got != want {
				t.Fatalf("%q, %q, %v by %v: %v, want %v", path, object, need, rules, got, want)
			}
			if asked++; want {
				allowed++
			}
			if path == "" {
				continue
			}
			if o, ok := s.Decide(path, object, need); ok != want || ok && !naive([]Rule{o.Rule}, path, object, need) {
				t.Fatalf("%q, %q, %v by %v: %v decides, %v", path, object, need, rules, o.Rule, ok)
			}
		}
	}
	if allowed < asked/10 || allowed > asked*9/10 {
		t.Errorf("%d of %d were allowed: the questions are too much alike", allowed, asked)
	}
}

// TestWhatASetCoversItAllows: if a set covers a rule, the set allows everything that the rule allows.
func TestWhatASetCoversItAllows(t *testing.T) {
	d := drawer{rand.New(rand.NewPCG(3, 4))}
	covered := 0
	for range 20_000 {
		rules := make([]Rule, 1+d.IntN(5))
		for i := range rules {
			rules[i] = d.rule()
		}
		s, r := NewSet(rules...), d.rule()
		r.Rights = r.Effective() & (1 << d.IntN(8))
		if r.Rights == 0 {
			continue
		}
		missing := ""
		for _, below := range []string{"", "/a", "/zz"} {
			for _, behind := range []string{"", "n", "zz"} {
				path, object := strings.TrimSuffix(r.Path, "/")+below, r.Object+behind
				if path == "" {
					path = "/"
				}
				if naive([]Rule{r}, path, object, r.Rights) && !naive(rules, path, object, r.Rights) {
					missing = fmt.Sprintf("%s %q", path, object)
				}
			}
		}
		if s.Covers(r) {
			covered++
		}
		if s.Covers(r) && missing != "" {
			t.Fatalf("%v does not allow %v for %s, and covers %v", rules, r.Rights, missing, r)
		}
	}
	if covered < 500 {
		t.Errorf("%d rules were covered", covered)
	}
}

func TestWhichPathsARuleCovers(t *testing.T) {
	for _, c := range []struct {
		rule, path string
		want       bool
	}{
		{"/prod", "/prod", true}, {"/prod", "/prod/x", true}, {"/prod", "/production", false}, {"/prod", "/pro", false},
		{"/prod", "/", false}, {"/prod/jobs", "/prod", false}, {"/", "/prod", true}, {"/", "/", true},
		{"/Prod", "/prod", false},
	} {
		s := NewSet(Rule{Path: c.rule, Rights: protocol.RightRead})
		if got := s.Allows(c.path, "", protocol.RightRead); got != c.want {
			t.Errorf("%s covers %s: %v", c.rule, c.path, got)
		}
	}
}

// TestARuleOfSomeObjectsIsAboutThose: it grants no right on the node or the cluster, except to find the node and to
// have a session.
func TestARuleOfSomeObjectsIsAboutThose(t *testing.T) {
	s := NewSet(Rule{Path: "/prod", Object: "nightly-", Rights: protocol.RightAll})
	for need, want := range map[protocol.Right][3]bool{ // the node, a matching object, a different object
		protocol.RightRead: {true, true, false}, protocol.RightAcquire: {true, true, false},
		protocol.RightWrite: {true, true, false}, protocol.RightDelete: {false, true, false},
		protocol.RightOperate: {false, true, false}, protocol.RightAdmin: {}, protocol.RightCluster: {},
		protocol.RightBackup: {},
	} {
		for i, object := range []string{"", "nightly-1", "daily"} {
			if got := s.Allows("/prod/x", object, need); got != want[i] {
				t.Errorf("%v of %q: %v", need, object, got)
			}
		}
	}
	if s.Administers("/prod") || s.Covers(Rule{Path: "/prod", Rights: protocol.RightRead}) ||
		!s.Covers(Rule{Path: "/prod/a", Object: "nightly-a", Rights: protocol.RightDelete}) {
		t.Error("it is taken for more, or less, than it is")
	}
}

func TestASetIsAskedWithoutAllocations(t *testing.T) {
	s := NewSet(Rule{Path: "/a", Rights: protocol.RightRead},
		Rule{Path: "/prod", Object: "n", Rights: protocol.RightAcquire})
	if n := testing.AllocsPerRun(100, func() {
		if !s.Allows("/prod/jobs/x", "nightly", protocol.RightAcquire) {
			t.Error("not allowed")
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkAllows(b *testing.B) {
	for _, n := range []int{1, 64, 4096} {
		b.Run(fmt.Sprintf("%d rules", n), func(b *testing.B) {
			rules := make([]Rule, n)
			for i := range rules {
				rules[i] = Rule{Path: fmt.Sprintf("/prod/%d", i), Rights: protocol.RightAcquire}
			}
			s := NewSet(rules...)
			b.ReportAllocs()
			for b.Loop() {
				if !s.Allows("/prod/0/jobs/x", "nightly", protocol.RightAcquire) {
					b.Fatal("not allowed")
				}
			}
		})
	}
}
