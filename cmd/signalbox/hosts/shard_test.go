package hosts

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/signalbox/signalbox/client/admin"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
)

// TestTheStateOfAShardIsInOneWord: the shard's worst state.
func TestTheStateOfAShardIsInOneWord(t *testing.T) {
	whole := admin.Redundancy{Wanted: 3, Voters: 3, Live: 3, Tolerated: 1}
	short := admin.Redundancy{Wanted: 3, Voters: 2, Live: 2}
	lost := admin.Redundancy{Wanted: 3, Voters: 3, Live: 1, Tolerated: -1}
	learner := func(observed bool, behind time.Duration) []admin.Replica {
		return []admin.Replica{{Role: admin.Voter}, {Role: admin.Learner, Observed: observed, Behind: behind}}
	}
	for want, s := range map[string]admin.Shard{
		"complete":    {Leader: 1, Redundancy: whole, Replicas: learner(true, time.Second)},
		"filling":     {Leader: 1, Redundancy: whole, Replicas: learner(true, 2*time.Second)},
		"short by 1":  {Leader: 1, Redundancy: short, Replicas: learner(false, 0)},
		"no leader":   {Redundancy: whole},
		"no majority": {Redundancy: lost},
	} {
		if got := stateText(&s); got != want {
			t.Errorf("%q, not %q", got, want)
		}
	}
}

// TestShardsAreGivenAsNumbersAndRanges: each shard counts once.
func TestShardsAreGivenAsNumbersAndRanges(t *testing.T) {
	for text, want := range map[string]string{
		"5": "[5]", "5-7 9": "[5 6 7 9]", "9 5-6 6-7 5": "[5 6 7 9]", "3-3": "[3]", "1023": "[1023]",
	} {
		if got, err := shardsOf(strings.Fields(text)); err != nil || fmt.Sprint(got) != want {
			t.Errorf("%s: %v, %v, want %s", text, got, err, want)
		}
	}
	for _, text := range []string{"0", "meta", "5-", "-5", "7-5", "1-1024", "1-2-3", "", "5,6",
		"18446744073709551616"} {
		if got, err := shardsOf([]string{text}); err == nil || cli.ExitCode(err) != cli.ExitUsage {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	for want, ids := range map[string][]uint64{
		"shard 5 is": {5}, "shards 5-6 are": {5, 6}, "shards 5-7 are": {5, 6, 7},
		"shards 1, 5-7, 9 are": {1, 5, 6, 7, 9},
	} {
		if got := shardsText(ids, "is", "are"); got != want {
			t.Errorf("%v: %q, want %q", ids, got, want)
		}
	}
}

// TestRebalancingIsOneLineWhileSlotsMove: not a line for each slot.
func TestRebalancingIsOneLineWhileSlotsMove(t *testing.T) {
	var out strings.Builder
	w := &waiting{frame: &cli.Frame{Streams: cli.Streams{Err: &out}}}
	for slot := range 100 {
		w.say(&admin.Why{
			Steps: []admin.Step{
				{ID: uint64(slot), Kind: moveSlot, Text: fmt.Sprintf("shard 1: moving slot %d to shard 2", slot)},
				{ID: 1000, Kind: "add-replica", Text: "shard 2: adding d"},
			},
			Reasons: []admin.Reason{
				{Code: admin.CodeQueued, Rule: admin.RuleBalance, Text: "900 slots are still to move"},
				{Code: admin.CodePacing, Rule: admin.RuleBalance, Text: "the next slot moves after a rest", Left: 1,
					Subjects: []string{fmt.Sprint("shard/", slot)}},
			},
		})
	}
	lines := strings.Count(out.String(), "\n")
	if strings.Contains(out.String(), "moving slot") || !strings.Contains(out.String(), "900 slots") ||
		!strings.Contains(out.String(), "adding d") || lines > 3 { // a third line if ten seconds have passed
		t.Errorf("it prints\n%s", out.String())
	}
}
