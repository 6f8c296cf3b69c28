package load

import (
	"fmt"
	"strconv"
)

// valueBytes is the size of what is written everywhere: what loadgen writes by default.
const valueBytes = 32

// Value is data that carries a number.
func Value(n int64) string { return fmt.Sprintf("%0*d", valueBytes, n) }

// NumberOf returns the number that a value carries.
func NumberOf(value []byte) (int64, error) {
	n, err := strconv.ParseInt(string(value), 10, 64)
	if err != nil || len(value) != valueBytes {
		return 0, fmt.Errorf("%w: %q was read, which was never written", ErrBroken, value)
	}
	return n, nil
}
