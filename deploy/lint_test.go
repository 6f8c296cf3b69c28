package deploy_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The rules of `promtool check metrics`, applied to a host's metrics.

// baseUnits maps each unit that names must not contain to the unit to use instead.
var baseUnits = map[string]string{
	"milliseconds": "seconds", "microseconds": "seconds", "nanoseconds": "seconds",
	"minutes": "seconds", "hours": "seconds",
	"days": "seconds", "weeks": "seconds", "kelvin": "celsius", "fahrenheit": "celsius", "kilometers": "meters",
	"millimeters": "meters", "bits": "bytes", "kilobytes": "bytes", "kibibytes": "bytes", "megabytes": "bytes",
	"mebibytes": "bytes", "gigabytes": "bytes", "gibibytes": "bytes", "percent": "ratio", "percents": "ratio",
	"kilograms": "grams", "milliamperes": "amperes", "kilojoules": "joules", "millivolts": "volts",
}

// abbreviations are unit abbreviations that names must not contain.
var abbreviations = []string{"s", "ms", "us", "ns", "sec", "b", "kb", "mb", "gb", "tb", "pb", "m", "h", "d"}

// lent are metric families named by the Go process collector. Other programs export the same names, so a rename would
// break existing dashboards and alerts.
var lent = []string{"go_gc_forced_count", "go_cpu_count", "go_cgo_calls_count"}

var camelCase = regexp.MustCompile(`[a-z][A-Z]`)

// lint returns promtool's complaints about a family.
func lint(name, kind, help string) (problems []string) {
	say := func(text string) { problems = append(problems, text) }
	parts := strings.Split(name, "_")
	if strings.TrimSpace(help) == "" {
		say("no help text")
	}
	if (kind == "counter") != strings.HasSuffix(name, "_total") {
		say("counters, and they alone, end in _total")
	}
	if kind != "histogram" && strings.HasSuffix(name, "_bucket") {
		say("only histograms end in _bucket")
	}
	if kind != "histogram" && kind != "summary" && (strings.HasSuffix(name, "_count") ||
		strings.HasSuffix(name, "_sum")) {
		say("only histograms and summaries end in _count and _sum")
	}
	for _, part := range parts {
		if unit := baseUnits[part]; unit != "" {
			say("the base unit is " + unit)
		}
		if slices.Contains(abbreviations, part) {
			say(part + " is an abbreviation")
		}
		if part == kind {
			say("the type is no part of a name")
		}
	}
	if strings.Contains(name, ":") {
		say("a colon is for recording rules")
	}
	if camelCase.MatchString(name) {
		say("it is in camelCase")
	}
	return problems
}

func TestEveryFamilyHasHelpAndTypeAndANameByTheRules(t *testing.T) {
	metrics(t) // starts the host
	kinds, helps := make(map[string]string), make(map[string]string)
	current, done := "", make(map[string]bool)
	for line := range strings.Lines(shown.text) {
		line = strings.TrimSuffix(line, "\n")
		if rest, is := strings.CutPrefix(line, "# HELP "); is {
			name, help, _ := strings.Cut(rest, " ")
			helps[name] = help
			continue
		}
		if rest, is := strings.CutPrefix(line, "# TYPE "); is {
			name, kind, _ := strings.Cut(rest, " ")
			if kinds[name] != "" || done[name] {
				t.Errorf("%s has its type twice, or after its series", name)
			}
			done[current], current = true, name
			kinds[name] = kind
			continue
		}
		name, _, _ := strings.Cut(line, " ")
		name, labels, _ := strings.Cut(name, "{")
		if kind := kinds[current]; kind == "histogram" || kind == "summary" {
			name = strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(name, "_bucket"), "_sum"), "_count")
		} else if strings.HasPrefix(labels, "le=") || strings.Contains(labels, ",le=") ||
			strings.Contains(labels, "quantile=") {
			t.Errorf("%s is a %s and has the label le or quantile", current, kind)
		}
		if name != current {
			t.Errorf("%s stands among the series of %s", name, current)
		}
	}
	if len(kinds) < 80 {
		t.Errorf("there are only %d families", len(kinds))
	}
	for name, kind := range kinds {
		if slices.Contains(lent, name) {
			continue
		}
		for _, problem := range lint(name, kind, helps[name]) {
			t.Errorf("%s, a %s: %s", name, kind, problem)
		}
	}
}

func TestTheRulesFindWhatTheyAreFor(t *testing.T) {
	for _, wrong := range [][3]string{
		{"a_total", "gauge", "x"}, {"a", "counter", "x"}, {"a", "gauge", " "}, {"a_bucket", "gauge", "x"}, {"a_count",
			"gauge", "x"},
		{"a_milliseconds", "gauge", "x"}, {"a_ms", "gauge", "x"}, {"a_gauge", "gauge", "x"}, {"a:b", "gauge",
			"x"}, {"aB", "gauge", "x"},
	} {
		if len(lint(wrong[0], wrong[1], wrong[2])) == 0 {
			t.Errorf("nothing is said of %v", wrong)
		}
	}
	if said := lint("signalbox_requests_total", "counter", "requests"); said != nil {
		t.Errorf("of a good one it is said %v", said)
	}
}
