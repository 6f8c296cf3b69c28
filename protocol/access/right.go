package access

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Right is a permission. Several rights are combined as bits; if a request accepts several rights, any one is enough.
type Right uint64

const (
	// None is the right for a request without a rule: the request is refused.
	None Right = 0
	// Read allows describing, listing and watching.
	Read Right = 1 << 0
	// Acquire allows acquiring and releasing, and taking part in rollouts and processes.
	Acquire Right = 1 << 1
	// Write allows creating objects, changing their data, publishing versions and sending requests.
	Write Right = 1 << 2
	// Delete allows deleting objects.
	Delete Right = 1 << 3
	// Operate allows ending other clients' sessions, and creating, controlling and changing rollouts and processes.
	Operate Right = 1 << 4
	// Admin allows creating, altering and dropping nodes, and granting rights.
	Admin Right = 1 << 5
	// Cluster allows adding, removing and operating hosts.
	Cluster Right = 1 << 6
	// Backup allows reading everything in the cluster.
	Backup Right = 1 << 7

	// All combines all rights.
	All Right = 1<<8 - 1
	// Session is what sessions require.
	Session = Acquire | Write
	// Open is the right for requests that neither show nor change node content: every admitted client may send them.
	Open Right = 1 << 8
)

var rightNames = []string{"read", "acquire", "write", "delete", "operate", "admin", "cluster", "backup"}

// ParseRight returns the right with a name.
func ParseRight(name string) (Right, bool) {
	at := slices.Index(rightNames, name)
	if at < 0 {
		return None, false
	}
	return 1 << at, true
}

// SumOf combines the rights with these names, ignoring case.
func SumOf(names ...string) (sum Right, err error) {
	for _, name := range names {
		right, known := ParseRight(strings.ToLower(name))
		if !known {
			return None, fmt.Errorf("%q is no right: the rights are %s", name, strings.Join(rightNames, ", "))
		}
		sum |= right
	}
	return sum, nil
}

// Names returns the rights' names, in constant order.
func (r Right) Names() (names []string) {
	for i, name := range rightNames {
		if r&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return names
}

// SetNames sets the rights by their names.
func (r *Right) SetNames(names []string) (err error) {
	*r, err = SumOf(names...)
	return err
}

// String formats the rights for people.
func (r Right) String() string {
	if names := r.Names(); len(names) > 0 {
		return strings.Join(names, " or ")
	}
	return "right " + strconv.FormatUint(uint64(r), 10)
}
