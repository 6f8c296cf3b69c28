package results

import (
	"math"
	"strconv"
	"strings"

	"github.com/signalbox/signalbox/loadgen/report"
)

// number writes a figure with three digits that mean something, and thousands apart.
func number(v float64) string {
	switch size := math.Abs(v); {
	case math.IsNaN(v):
		return "-"
	case size >= 100:
		return report.Thousands(strconv.FormatFloat(v, 'f', 0, 64))
	case size >= 10:
		return trimmed(strconv.FormatFloat(v, 'f', 1, 64))
	}
	return trimmed(strconv.FormatFloat(v, 'f', 2, 64))
}

func trimmed(s string) string {
	return strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
}

// unitOf sets a unit apart from its number, where people do.
func unitOf(unit string) string {
	if unit == "x" || unit == "" {
		return unit
	}
	return " " + unit
}
