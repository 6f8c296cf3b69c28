package admin

import (
	"flag"
	"os"
	"regexp"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write families.txt anew")

var (
	metricRow = regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\| [a-z, ]* ?\\| (gauge|counter|histogram) \\| (.+) \\|$")
	link      = regexp.MustCompile(`\[([^]]*)\]\([^)]*\)`)
)

func TestFamiliesAreThoseOfThePageOfMetrics(t *testing.T) {
	page, err := os.ReadFile("../../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	var want strings.Builder
	for _, row := range metricRow.FindAllStringSubmatch(string(page), -1) {
		help := strings.ReplaceAll(link.ReplaceAllString(row[3], "$1"), "`", "")
		want.WriteString(row[1] + "\t" + row[2] + "\t" + help + "\n")
	}
	if *update {
		if err := os.WriteFile("families.txt", []byte(want.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if familyTable != want.String() {
		t.Error("families.txt is not what docs/metrics.md says; go test ./server/admin -update writes it anew")
	}
}

func TestSeriesOfAFamilyStandTogetherBelowItsHelpAndType(t *testing.T) {
	got := string(expose([]byte(`signalbox_shard_is_leader{shard="1"} 1
signalbox_shard_term{shard="1"} 7
signalbox_shard_is_leader{shard="2"} 0
signalbox_commit_duration_seconds_bucket{le="+Inf"} 3
signalbox_commit_duration_seconds_sum 0.5
signalbox_commit_duration_seconds_count 3
# HELP go_gc_duration_seconds
# TYPE go_gc_duration_seconds summary
go_gc_duration_seconds{quantile="0.5"} 1
go_gc_duration_seconds_sum 2
go_gc_duration_seconds_count 2
# TYPE process_start_time_seconds gauge
process_start_time_seconds 5

dragonboat_lost_total{shard="1"} 4
`)))
	want := `# HELP signalbox_shard_is_leader 1 if the host leads the shard
# TYPE signalbox_shard_is_leader gauge
signalbox_shard_is_leader{shard="1"} 1
signalbox_shard_is_leader{shard="2"} 0
# HELP signalbox_shard_term Latest leader's Raft term
# TYPE signalbox_shard_term gauge
signalbox_shard_term{shard="1"} 7
# HELP signalbox_commit_duration_seconds Time from proposing a batch to applying it: disks, and network between hosts
# TYPE signalbox_commit_duration_seconds histogram
signalbox_commit_duration_seconds_bucket{le="+Inf"} 3
signalbox_commit_duration_seconds_sum 0.5
signalbox_commit_duration_seconds_count 3
# HELP go_gc_duration_seconds gc duration seconds, of the Go runtime
# TYPE go_gc_duration_seconds summary
go_gc_duration_seconds{quantile="0.5"} 1
go_gc_duration_seconds_sum 2
go_gc_duration_seconds_count 2
# HELP process_start_time_seconds start time seconds, of the process, as the operating system counts it
# TYPE process_start_time_seconds gauge
process_start_time_seconds 5
# HELP dragonboat_lost_total lost total, of the Raft engine
# TYPE dragonboat_lost_total counter
dragonboat_lost_total{shard="1"} 4
`
	if got != want {
		t.Errorf("have\n%s\nwant\n%s", got, want)
	}
}
