package deploy_test

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var metricRow = regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\| ([a-z, ]*) ?\\| (gauge|counter|histogram) \\| (.+) \\|$")

// TestThePageOfMetricsListsWhatAHostShows compares docs/metrics.md with a real host, both ways.
func TestThePageOfMetricsListsWhatAHostShows(t *testing.T) {
	known := metrics(t)
	page, err := os.ReadFile("../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	listed := make(map[string]bool)
	for _, row := range metricRow.FindAllStringSubmatch(string(page), -1) {
		family, kind := row[1], row[3]
		if listed[family] {
			t.Errorf("%s is listed twice", family)
		}
		listed[family] = true
		names := []string{family}
		if kind == "histogram" {
			names = []string{family + "_sum", family + "_count", family + "_bucket"}
		}
		if (kind == "counter") != strings.HasSuffix(family, "_total") {
			t.Errorf("%s is listed as a %s", family, kind)
		}
		for _, name := range names {
			listed[name] = true
			if known[name] == nil {
				t.Errorf("no host shows %s", name)
				continue
			}
			labels := slices.Sorted(maps.Keys(known[name]))
			labels = slices.DeleteFunc(labels, func(l string) bool {
				return l == "instance" || l == "job" ||
					l == "le"
			})
			if want := slices.Sorted(strings.SplitSeq(strings.TrimSpace(row[2]), ", ")); !slices.Equal(labels, want) &&
				len(labels)+len(row[2]) > 0 {
				t.Errorf("%s has the labels %q, and the page says %q", name, labels, want)
			}
		}
	}
	for name := range known {
		if strings.HasPrefix(name, "signalbox_") && !listed[name] {
			t.Errorf("%s is not listed", name)
		}
		if prefix, _, _ := strings.Cut(name, "_"); name != "up" &&
			!slices.Contains([]string{"signalbox", "go", "process", "dragonboat"}, prefix) {
			t.Errorf("%s is of none of the prefixes that the page names", name)
		}
	}
	if len(listed) < 40 {
		t.Errorf("only %d series are listed", len(listed))
	}
}
