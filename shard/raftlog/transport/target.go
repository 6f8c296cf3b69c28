package transport

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/hosts"
)

// Target is the name by which the engine knows a host, used instead of an address. The address book has the host's
// address.
type Target struct {
	Host        shard.HostID
	Incarnation hosts.Incarnation
}

// String returns the target as it is stored in the log: h<id>.<32 hexadecimal digits>.
func (t Target) String() string { return fmt.Sprintf("h%d.%s", t.Host, t.Incarnation) }

// ParseTarget parses the result of String, and accepts nothing else.
func ParseTarget(text string) (t Target, err error) {
	id, incarnation, ok := cutTarget(text)
	if !ok {
		return t, fmt.Errorf("target %q: want h<id>.<incarnation>", text)
	}
	n, err := strconv.ParseUint(id, 10, 64)
	if err != nil {
		return t, fmt.Errorf("target %q: %w", text, err)
	}
	t.Host = shard.HostID(n)
	return t, t.Incarnation.UnmarshalText([]byte(incarnation))
}

const decimal, hexadecimal = "0123456789", "0123456789abcdef"

// cutTarget splits a target without allocating: the engine has each message checked.
func cutTarget(text string) (id, incarnation string, ok bool) {
	id, incarnation, ok = strings.Cut(text, ".")
	const digits = 2 * len(hosts.Incarnation{})
	if !ok || len(id) < 2 || id[0] != 'h' || id[1] == '0' || len(incarnation) != digits ||
		strings.Trim(id[1:], decimal) != "" || strings.Trim(incarnation, hexadecimal) != "" {
		return "", "", false
	}
	return id[1:], incarnation, true
}
