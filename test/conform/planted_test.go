package conform_test

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/test/clienttest"
	play "github.com/signalbox/signalbox/test/conformance"
)

// conformBugs are bugs possible in a client in any language, each with its detecting script.
var conformBugs = []clienttest.Bug{
	{
		Name: "a lease counts from the answer", File: "../../client/internal/session/home.go",
		Is:      "in.home, in.sent, in.since = to, sentAt, in.group.scope.Now()",
		Becomes: "in.home, in.sent, in.since = to, in.group.scope.Now(), in.group.scope.Now()",
		Noticed: "lease-counts-from-the-sending-of-the-start",
	},
	{
		Name: "a mutation is sent anew under a new number", File: "../../client/internal/session/mutation.go",
		Is:      "		m.phase, m.err, m.doubt = broken, err, true\n",
		Becomes: "		m.phase, m.err, m.doubt = broken, err, true\n		m.dropNumber()\n",
		Noticed: "a-create-whose-answer-was-lost-keeps-its-sequence",
	},
	{
		Name: "a watch loses its place", File: "../../client/internal/view/shared.go",
		Is: "m.Since = s.view.Revision", Becomes: "m.Since = 0",
		Noticed: "a-watch-keeps-its-place-over-a-lost-connection",
	},
	{
		Name: "a lease counts from the answer to the attach", File: "../../client/internal/session/attach.go",
		Is:      "in.attachedOver(to, sequence, sentAt,",
		Becomes: "in.attachedOver(to, sequence, max(sentAt, in.group.scope.Now()),",
		Noticed: "lease-counts-from-the-sending-of-the-attach",
	},
	{
		Name: "a lease counts from the answer to a ping", File: "../../client/internal/conn/pinger.go",
		Is: "p.vouched.Store(int64(po.sent))", Becomes: "p.vouched.Store(int64(p.conn.dialer.config.Scope.Now()))",
		Noticed: "lease-counts-from-the-sending-of-a-ping",
	},
	{
		Name: "pings come too seldom", File: "../../client/internal/conn/pinger.go",
		Is: "return max(p.smallest/3, time.Millisecond)", Becomes: "return max(p.smallest*2/3, time.Millisecond)",
		Noticed: "lease-holds-while-pongs-come",
	},
	{
		Name: "a rebuilt shard loses only what it granted itself", File: "../../protocol/session.go",
		Is: "(first || ShardOfOrder", Becomes: "(ShardOfOrder",
		Noticed: "leases-in-the-slots-of-a-rebuilt-shard-are-lost",
	},
	{
		Name: "a rebuilt shard loses what it granted in all slots", File: "../../protocol/session.go",
		Is: "l.Slots[at]>>(slot%8)&1 != 0", Becomes: "l.Slots[at]>>(slot%8) < 255",
		Noticed: "leases-in-the-slots-of-a-rebuilt-shard-are-lost",
	},
	{
		Name: "what a rebuilt shard lost is not released", File: "../../client/internal/session/home.go",
		Is:      "	in.releaseLater(q.name, order)\n	in.dropIfEmpty(q)\n",
		Becomes: "	_ = order\n	in.dropIfEmpty(q)\n",
		Noticed: "leases-in-the-slots-of-a-rebuilt-shard-are-lost",
	},
	{
		Name: "a stolen session is taken back", File: "../../client/internal/session/attach.go",
		Is: "return Taken, true", Becomes: "return Taken, false",
		Noticed: "a-stolen-session-is-not-taken-back-on-returning",
	},
	{
		Name: "each attach has the same sequence", File: "../../client/internal/session/attach.go",
		Is: "in.sequence++", Becomes: "in.sequence = 2",
		Noticed: "the-attach-sequence-grows",
	},
	{
		Name: "what is not answered is acknowledged", File: "../../client/internal/session/sequences.go",
		Is: "return number, min(s.low, number-1)", Becomes: "return number, number - 1",
		Noticed: "what-is-not-answered-is-not-acknowledged",
	},
	{
		Name: "an acquire that was given up is left behind", File: "../../client/internal/session/undo.go",
		Is: "	if !needless {\n", Becomes: "	if !needless && m == nil {\n",
		Noticed: "an-acquire-that-is-given-up-before-its-answer-leaves-nothing",
	},
	{
		Name: "leases are not verified after a gap", File: "../../client/internal/session/verify.go",
		Is: "	for _, l := range in.looks {\n		l.leases, l.gaps =",
		Becomes: "	if in.home == nil || in.home != nil {\n		return\n	}\n" +
			"	for _, l := range in.looks {\n		l.leases, l.gaps =",
		Noticed: "a-lease-that-was-lost-in-a-gap-is-found-out",
	},
	{
		Name: "a refused mutation loses its number", File: "../../client/internal/session/mutation.go",
		Is:      "	case status == protocol.StatusUnavailable:\n		m.doubt = true\n",
		Becomes: "	case status == protocol.StatusUnavailable:\n		m.dropNumber()\n",
		Noticed: "an-acquire-that-was-carried-out-though-unavailable-is-answered-as-it-was",
	},
	{
		Name: "a look is answered by any replica", File: "../../client/internal/session/verify.go",
		Is: "Consistency: protocol.ConsistencyStrict", Becomes: "Consistency: protocol.ConsistencyRelaxed",
		Noticed: "a-client-looks-at-what-it-holds-when-a-host-asks",
	},
	{
		Name: "a lease is verified by its name", File: "../../client/internal/session/verify.go",
		Is: "if held[u.name] != u.lease.Order &&", Becomes: "if held[u.name] == 0 &&",
		Noticed: "a-lease-is-verified-by-its-order-id",
	},
	{
		Name: "a lease holds until its change is Success", File: "../../client/internal/session/verify.go",
		Is: "if l := q.lease; q.refused &&", Becomes: "if l := q.lease; false &&",
		Noticed: "a-change-that-a-host-puts-off-hides-no-loss",
	},
	{
		Name: "the latest location wins", File: "../../client/internal/cluster/cluster.go",
		Is:      "			return m.Generation == known\n",
		Becomes: "			m.Generation = known + 1\n",
		Noticed: "a-host-that-lags-does-not-send-a-client-back",
	},
	{
		Name: "the location of a moved slot is forgotten", File: "../../client/internal/cluster/routes.go",
		Is:      "	if p := r.moved[slot]; p.generation != 0 {\n",
		Becomes: "	if p := r.moved[slot]; p.generation != 0 && r == nil {\n",
		Noticed: "an-acquire-follows-a-slot-that-moved",
	},
	{
		Name: "a new routing forgets moves", File: "../../client/internal/cluster/routes.go",
		Is: "		moved: maps.Clone(old.moved)}\n", Becomes: "		moved: maps.Clone(noRoutes.moved)}\n",
		Noticed: "a-routing-with-an-older-generation-takes-nothing-back",
	},
	{
		Name: "a watch names no generation", File: "../../client/internal/cluster/routes.go",
		Is: "	case *protocol.Watch:\n		m.Generation =", Becomes: "	case *protocol.Watch:\n		_ =",
		Noticed: "a-watch-goes-on-where-its-slot-moved",
	},
	{
		Name: "a list forgets slots that have moved", File: "../../client/internal/cluster/list.go",
		Is: "			unread = append(unread, missing...)\n", Becomes: "			_ = missing\n",
		Noticed: "a-list-goes-on-where-its-slots-moved",
	},
	{
		Name: "a list names no generation", File: "../../client/internal/cluster/routes.go",
		Is: "			m.Listed().Generation =", Becomes: "			_ =",
		Noticed: "a-list-names-the-highest-known-generation",
	},
	{
		Name: "a moved lease is looked for where it was", File: "../../client/internal/session/verify.go",
		Is:      "		if in.verifyMoved(l, leases) {\n",
		Becomes: "		if len(leases) == 0 && in.verifyMoved(l, leases) {\n",
		Noticed: "a-lease-that-moves-while-it-is-verified-is-asked-for-at-its-new-shard",
	},
	{
		Name: "an acquire that waits does not follow its slot", File: "../../client/internal/session/mutation.go",
		Is: "				in.group.cluster.Moved(&result.Moved, from)\n", Becomes: "				_ = from\n",
		Noticed: "an-acquire-that-waits-is-repeated-where-its-slot-moved",
	},
	{
		Name: "the routing is never requested after a wait", File: "../../client/internal/retry/retry.go",
		Is: "failure.Wait(err) > 0 && r.waits < waitsAtOnce", Becomes: "failure.Wait(err) > 0",
		Noticed: "a-host-that-keeps-asking-to-wait-is-left",
	},
	{
		Name: "shards are looked at one after the other", File: "../../client/internal/session/verify.go",
		Is: "		err := in.verifyIn(l, leases)\n",
		Becomes: "		for slices.ContainsFunc(in.looks, func(o *look) bool { return o.shard < l.shard }) {\n" +
			"			time.Sleep(time.Millisecond)\n		}\n		err := in.verifyIn(l, leases)\n",
		Noticed: "a-shard-that-does-not-answer-hides-no-loss-in-another",
	},
}

// namedByABug reports whether a script detects a bug.
func namedByABug(s *play.Script) bool {
	return slices.ContainsFunc(conformBugs, func(b clienttest.Bug) bool { return b.Noticed == s.Name })
}

// TestBugsInTheSourceAreNoticed: a driver with a planted bug fails the script in the bug's row, and passes without the
// bug.
func TestBugsInTheSourceAreNoticed(t *testing.T) {
	all, err := play.Load(protocol.Scripts())
	clienttest.Check(t, err)
	for _, b := range append([]clienttest.Bug{{}}, clienttest.ToPlant(t, conformBugs, 3)...) {
		t.Run("bug "+b.Name, func(t *testing.T) {
			driver := filepath.Join(t.TempDir(), "driver")
			args := []string{"build", "-ldflags=-s -w", "-o", driver}
			if b.Name != "" {
				args = append(args, "-overlay", b.Overlay(t))
			}
			build := exec.CommandContext(t.Context(), "go", append(args, "./driver")...)
			out, err := build.CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			scripts := slices.DeleteFunc(slices.Clone(all), func(s *play.Script) bool {
				return s.Name != b.Noticed && (b.Name != "" || !namedByABug(s))
			})
			failed, skipped := play.Run(scripts, play.Options{
				Driver: []string{driver}, Beside: len(scripts), Slack: time.Second / 4,
				Done: func(o play.Outcome) {
					t.Logf("%s: %v", o.Script.Name, o.Err)
					if b.Name == "" && o.Err != nil {
						t.Errorf("it fails without a bug: %v\n%s", o.Err, strings.Join(o.Record, "\n"))
					}
				},
			})
			if b.Name != "" && failed != 1 || skipped > 0 || len(scripts) == 0 {
				t.Errorf("%d of %d scripts failed, %d were skipped", failed, len(scripts), skipped)
			}
		})
	}
}
