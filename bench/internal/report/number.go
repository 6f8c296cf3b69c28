package report

import (
	"math"
	"strconv"
	"strings"
)

// number writes a figure with three digits that mean something, and thousands apart.
func number(v float64) string {
	switch size := math.Abs(v); {
	case math.IsNaN(v):
		return "-"
	case size >= 100:
		return thousands(strconv.FormatFloat(v, 'f', 0, 64))
	case size >= 10:
		return trimmed(strconv.FormatFloat(v, 'f', 1, 64))
	}
	return trimmed(strconv.FormatFloat(v, 'f', 2, 64))
}

func trimmed(s string) string {
	return strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
}

func thousands(digits string) string {
	sign := ""
	if strings.HasPrefix(digits, "-") {
		sign, digits = "-", digits[1:]
	}
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return sign + digits
}

// unitOf sets a unit apart from its number, where people do.
func unitOf(unit string) string {
	if unit == "x" || unit == "" {
		return unit
	}
	return " " + unit
}
