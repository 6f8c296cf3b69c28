package adminclient

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Sample is one series' value.
type Sample struct {
	Labels map[string]string
	Value  float64
}

// Metrics are a host's series, by name.
type Metrics map[string][]Sample

// Parse parses metrics. Unknown comment lines are skipped; any other unknown line is an error.
func Parse(r io.Reader) (Metrics, error) {
	m := make(Metrics)
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		if line == "" || line[0] == '#' {
			continue
		}
		name, s, err := parseLine(line)
		if err != nil {
			return nil, fmt.Errorf("metrics: %q: %w", line, err)
		}
		m[name] = append(m[name], s)
	}
	return m, lines.Err()
}

// parseLine parses a line that contains a sample: name, optional labels in braces, and value.
func parseLine(line string) (name string, s Sample, err error) {
	at := strings.IndexAny(line, "{ ")
	if at < 0 {
		return "", s, fmt.Errorf("the value is missing")
	}
	name, line = line[:at], line[at:]
	if line[0] == '{' {
		if s.Labels, line, err = parseLabels(line[1:]); err != nil {
			return "", s, err
		}
	}
	s.Value, err = strconv.ParseFloat(strings.TrimSpace(line), 64)
	return name, s, err
}

// parseLabels parses labels up to the closing brace.
func parseLabels(text string) (labels map[string]string, rest string, err error) {
	labels = make(map[string]string)
	for {
		text = strings.TrimLeft(text, ", ")
		if after, ok := strings.CutPrefix(text, "}"); ok {
			return labels, after, nil
		}
		key, after, ok := strings.Cut(text, `="`)
		if !ok {
			return nil, "", fmt.Errorf("the labels are not terminated")
		}
		var value strings.Builder
		at := 0
		for ; at < len(after) && after[at] != '"'; at++ {
			if after[at] == '\\' && at+1 < len(after) {
				if at++; after[at] == 'n' {
					value.WriteByte('\n')
					continue
				}
			}
			value.WriteByte(after[at])
		}
		if at == len(after) {
			return nil, "", fmt.Errorf("a label is not terminated")
		}
		labels[key], text = value.String(), after[at+1:]
	}
}

// Sum adds up the series with a name and with the labels given as pairs.
func (m Metrics) Sum(name string, pairs ...string) (sum float64) {
	for _, s := range m[name] {
		if s.has(pairs) {
			sum += s.Value
		}
	}
	return sum
}

// has reports whether the sample has all labels given as pairs.
func (s *Sample) has(pairs []string) bool {
	for i := 0; i+1 < len(pairs); i += 2 {
		if s.Labels[pairs[i]] != pairs[i+1] {
			return false
		}
	}
	return true
}

// Times is a histogram of durations.
type Times struct {
	Count, Seconds float64
	buckets        map[float64]float64 // by upper bound, with the count of all values below the bound
}

// Times returns the histogram with a name, over the series with the labels given as pairs.
func (m Metrics) Times(name string, pairs ...string) Times {
	t := Times{Count: m.Sum(name+"_count", pairs...), Seconds: m.Sum(name+"_sum", pairs...),
		buckets: make(map[float64]float64)}
	for _, s := range m[name+"_bucket"] {
		if bound, err := strconv.ParseFloat(s.Labels["le"], 64); err == nil && s.has(pairs) {
			t.buckets[bound] += s.Value
		}
	}
	return t
}

// Since returns the growth since an earlier reading from the same host. A restarted host counts from zero.
func (t Times) Since(before Times) Times {
	if before.Count > t.Count {
		return t
	}
	out := Times{Count: t.Count - before.Count, Seconds: t.Seconds - before.Seconds, buckets: make(map[float64]float64)}
	for bound, n := range t.buckets {
		out.buckets[bound] = n - before.buckets[bound]
	}
	return out
}

// Plus adds another host's histogram.
func (t Times) Plus(other Times) Times {
	out := Times{Count: t.Count + other.Count, Seconds: t.Seconds + other.Seconds, buckets: make(map[float64]float64)}
	for bound, n := range t.buckets {
		out.buckets[bound] += n
	}
	for bound, n := range other.buckets {
		out.buckets[bound] += n
	}
	return out
}

// Mean returns the mean in seconds, 0 if nothing was counted.
func (t Times) Mean() float64 {
	if t.Count == 0 {
		return 0
	}
	return t.Seconds / t.Count
}

// Below returns the bound in seconds below which the given fraction of values lies, 0 without values. Bounds are
// powers of two, so the bound can be up to twice the value.
func (t Times) Below(part float64) float64 {
	if t.Count == 0 {
		return 0
	}
	last := 0.0
	for _, bound := range slices.Sorted(maps.Keys(t.buckets)) {
		if math.IsInf(bound, 1) {
			break
		}
		if last = bound; t.buckets[bound] >= part*t.Count {
			return bound
		}
	}
	return last
}
