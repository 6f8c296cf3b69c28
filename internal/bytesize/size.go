// Package bytesize parses and formats byte sizes with a unit, for settings and flags.
package bytesize

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Size is a number of bytes. Its text form is a number with or without a unit: 65536, 64KiB, 2GiB.
type Size uint64

var sizeUnits = []struct {
	name  string
	bytes Size
}{
	// Longest unit first, because every unit ends with the last unit in the list.
	{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10},
	{"TB", 1e12}, {"GB", 1e9}, {"MB", 1e6}, {"kB", 1e3}, {"KB", 1e3},
	{"B", 1},
}

var errSize = errors.New("not a size; give a size such as 65536, 64KiB or 2GiB")

// Parse reads a size from text.
func Parse(text string) (Size, error) {
	number, unit := strings.TrimSpace(text), Size(1)
	for _, u := range sizeUnits {
		if strings.HasSuffix(number, u.name) {
			number, unit = strings.TrimSpace(strings.TrimSuffix(number, u.name)), u.bytes
			break
		}
	}
	n, err := strconv.ParseUint(number, 10, 64)
	if err != nil {
		return 0, errSize
	}
	if n > math.MaxInt64/uint64(unit) {
		return 0, fmt.Errorf("the size is too large; %w", errSize)
	}
	return Size(n) * unit, nil
}

// String returns the size in the largest unit with an exact result.
func (s Size) String() string {
	for _, u := range sizeUnits[:4] {
		if s >= u.bytes && s%u.bytes == 0 {
			return strconv.FormatUint(uint64(s/u.bytes), 10) + u.name
		}
	}
	return strconv.FormatUint(uint64(s), 10) + "B"
}

// Set implements flag.Value.
func (s *Size) Set(text string) (err error) {
	*s, err = Parse(text)
	return err
}
