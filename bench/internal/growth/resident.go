package growth

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
)

// resident is how many bytes of memory a process occupies, as /proc says.
func resident(pid int) (int64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return 0, fmt.Errorf("memory of process %d: %w", pid, err)
	}
	return parseResident(text)
}

// parseResident reads the second field of statm, which counts pages.
func parseResident(text []byte) (int64, error) {
	fields := bytes.Fields(text)
	if len(fields) < 2 {
		return 0, fmt.Errorf("memory of a process: %q has no second field", text)
	}
	pages, err := strconv.ParseInt(string(fields[1]), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("memory of a process: %w", err)
	}
	return pages * int64(os.Getpagesize()), nil
}
