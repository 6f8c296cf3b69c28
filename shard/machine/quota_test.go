package machine_test

import (
	"flag"
	"strings"
	"testing"

	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/test/twin"
)

var mistakeSeek = flag.Int("mistake.seek", 0,
	"for each planted mistake, how many seeds to look through for those that show it")

// TestMistakesInQuotasAreNoticed: bugs in quota usage, or in quota refusals, are detected. The bug is in the twin: the
// comparison is symmetric.
func TestMistakesInQuotasAreNoticed(t *testing.T) {
	noticeMistakes(t, []plantedMistake{
		{"a removal is not counted", twin.CountsTimedOutWaiters, 16, "takes"},
		{"a release is refused", twin.RefusesReleases, 16, "QUOTA_EXCEEDED"},
		{"what shrinks is refused", twin.ChargesShrinking, 16, "QUOTA_EXCEEDED"},
	})
}

// plantedMistake is a bug in the twin, exposed by a seed's run.
type plantedMistake struct {
	name    string
	mistake twin.Mistake
	seed    uint64
	says    string
}

func noticeMistakes(t *testing.T, mistakes []plantedMistake) {
	t.Helper()
	if testing.Short() {
		t.Skip("plays many runs of a machine, which one goroutine carries out")
	}
	for _, c := range mistakes {
		t.Run(strings.ReplaceAll(c.name, " ", "-"), func(t *testing.T) {
			for seed := uint64(1); seed <= uint64(*mistakeSeek); seed++ {
				if err := playMistake(seed, c.mistake); err != nil && strings.Contains(err.Error(), c.says) {
					t.Logf("seed %d says %s", seed, c.says)
				}
			}
			if err := playFaultless(c.seed); err != nil {
				t.Fatalf("without the mistake: %v", err)
			}
			if err := playMistake(c.seed, c.mistake); err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("seed %d found %v", c.seed, err)
			}
		})
	}
}

// faultless are the results of runs without a bug, by seed: many bugs share a run, and a long run takes half a minute
// under the race detector.
var faultless = make(map[uint64]error)

// playFaultless runs a seed against a correct twin, once.
func playFaultless(seed uint64) error {
	err, played := faultless[seed]
	if !played {
		err = playMistake(seed, twin.NoMistake)
		faultless[seed] = err
	}
	return err
}

// playMistake runs a seed against a twin with a bug.
func playMistake(seed uint64, m twin.Mistake) error {
	r := newRun(seed, make(tally))
	r.naive.Plant(m)
	return r.play()
}

// TestQuotasHaveNames: quota numbers are in snapshots, their names in logs and metrics.
func TestQuotasHaveNames(t *testing.T) {
	for q, want := range map[shard.Quota]string{
		shard.QuotaNone: "none", shard.QuotaNodeObjects: "node-objects", shard.QuotaNodeBytes: "node-bytes",
		shard.QuotaShardObjects: "shard-objects", shard.QuotaShardBytes: "shard-bytes", 9: "quota-9",
	} {
		if q.String() != want {
			t.Errorf("quota %d is called %s", q, q)
		}
	}
	if shard.QuotaNodeObjects != 1 || shard.QuotaNodeBytes != 2 || shard.QuotaShardObjects != 3 ||
		shard.QuotaShardBytes != 4 {
		t.Error("a quota has another number")
	}
}
