package deploy_test

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// series are the existing metrics by name: their labels, and each label's values.
type series map[string]map[string]map[string]bool

var (
	sampleLine = regexp.MustCompile(`^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)$`)
	labelPair  = regexp.MustCompile(`^([a-zA-Z_][a-zA-Z0-9_]*)=("(?:[^"\\]|\\.)*")(?:, ?|$)`)
)

// parseSeries parses a host's /metrics page.
func parseSeries(text string) (series, error) {
	found := make(series)
	for i, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		if strings.HasPrefix(line, "#") || line == "" {
			continue
		}
		m := sampleLine.FindStringSubmatch(line)
		if m == nil {
			return nil, fmt.Errorf("line %d is no sample: %s", i+1, line)
		}
		if _, err := strconv.ParseFloat(m[3], 64); err != nil {
			return nil, fmt.Errorf("line %d has no number: %s", i+1, line)
		}
		found.add(m[1])
		for rest := m[2]; rest != ""; {
			pair := labelPair.FindStringSubmatch(rest)
			if pair == nil {
				return nil, fmt.Errorf("line %d has labels that cannot be read: %s", i+1, line)
			}
			value, err := strconv.Unquote(pair[2])
			if err != nil {
				return nil, fmt.Errorf("line %d: the label %s: %w", i+1, pair[1], err)
			}
			found.label(m[1], pair[1], value)
			rest = rest[len(pair[0]):]
		}
	}
	return found, nil
}

func (s series) add(metric string) {
	if s[metric] == nil {
		s[metric] = make(map[string]map[string]bool)
	}
}

func (s series) label(metric, label string, values ...string) {
	s.add(metric)
	if s[metric][label] == nil {
		s[metric][label] = make(map[string]bool)
	}
	for _, v := range values {
		s[metric][label][v] = true
	}
}

// scraped adds Prometheus's own data: the labels instance and job on every series, and the series up.
func (s series) scraped() series {
	s.add("up")
	for metric := range s {
		s.label(metric, "instance", "127.0.0.1:7422")
		s.label(metric, "job", "signalbox")
	}
	return s
}

func TestQueriesThatAreWrongAreRefused(t *testing.T) {
	known, err := parseSeries("# HELP x\n" +
		"requests_total{kind=\"A\"} 1\nrequests_total{kind=\"B \\\"x\\\"\"} 2\n" +
		"seconds_bucket{kind=\"A\",le=\"0.1\"} 3\nsessions{shard=\"1\"} 4\nready 1\n")
	if err != nil {
		t.Fatal(err)
	}
	known.scraped()
	for _, good := range []string{
		`ready == 0`, `sum(rate(requests_total[5m]))`, `sum by (kind) (rate(requests_total{kind="A"}[5m])) > 0.5`,
		`histogram_quantile(0.99, sum by (le, kind) (rate(seconds_bucket[1m30s])))`, `count(ready == 0) or vector(0)`,
		`predict_linear(sessions[1h], 4 * 3600) < -2`, `max by (shard) (sessions) - on (shard) group_right () sessions`,
		`topk(3, sessions{instance=~".*"})`, `sum(sessions) without (shard)`, `rate(requests_total{kind=~"A|B \"x\""}[5m] offset 1h)`,
		`ready - time() < 3600`, `up{job="signalbox"} == 0 and ready`, `(sessions + 2) ^ 2 unless sessions > 5`,
	} {
		if _, err := check(known, good); err != nil {
			t.Errorf("%s: %v", good, err)
		}
	}
	for bad, why := range map[string]string{
		`missing`:                                     "there is no series missing",
		`ready{shard="1"}`:                            "no label shard",
		`requests_total{kind="C"}`:                    `never "C"`,
		`sum by (shard) (ready)`:                      "does not have",
		`time(ready)`:                                 "has 1 arguments and needs 0",
		`rate(requests_total)`:                        "gets instant vector",
		`rate(sessions[5m])`:                          "a counter's name",
		`requests_total[5m]`:                          "cannot be shown",
		`sum(rate(requests_total[5m])`:                "ends too early",
		`ready == 0)`:                                 "too much",
		`histogram_quantile(0.9, rate(ready[5m]))`:    "a counter's name",
		`histogram_quantile(0.9, sessions)`:           "needs the label le",
		`floor(ready)`:                                "not known",
		`ready and 1`:                                 "needs vectors",
		`ready and sessions`:                          "never match",
		`sessions > on (kind) sessions`:               "one side does not have",
		`rate(requests_total[$__rate_interval])`:      "no sign of PromQL",
		`rate(requests_total[five])`:                  "no duration",
		`requests_total{kind=A}`:                      "no matcher",
		`sum(sessions) without (kind)`:                "does not have",
		`sessions - on (shard) group_left (`:          "ends too early",
		`requests_total{kind="A`:                      "does not end",
		`rate((requests_total)[5m])`:                  "only a selector",
		`predict_linear(requests_total[1h], 4 * 360)`: "a counter's name",
	} {
		if _, err := check(known, bad); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: %v, want: %s", bad, err, why)
		}
	}
}
