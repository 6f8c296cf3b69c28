package access

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Right is what a client can be allowed. Several rights are the sum of their bits; of the rights that a request needs,
// any is enough.
type Right uint64

const (
	// None is the right of a request without a rule: the request is refused.
	None Right = 0
	// Read allows to describe, list and watch.
	Read Right = 1 << 0
	// Acquire allows to acquire and release, and to take part in rollouts and processes.
	Acquire Right = 1 << 1
	// Write allows to create objects, to change their data, to publish versions and to send requests.
	Write Right = 1 << 2
	// Delete allows to delete objects.
	Delete Right = 1 << 3
	// Operate allows to end the sessions of others, and to make, steer and change rollouts and processes.
	Operate Right = 1 << 4
	// Admin allows to create, alter and drop nodes, and to give rights.
	Admin Right = 1 << 5
	// Cluster allows to change which hosts there are, and what hosts do.
	Cluster Right = 1 << 6
	// Backup allows to read everything in the cluster.
	Backup Right = 1 << 7

	// All is the sum of all rights.
	All Right = 1<<8 - 1
	// Session is what sessions take.
	Session = Acquire | Write
	// Open is the right of requests that show and change nothing of any node: every client that was let in may send
	// them.
	Open Right = 1 << 8
)

var rightNames = []string{"read", "acquire", "write", "delete", "operate", "admin", "cluster", "backup"}

// ParseRight returns the right of a name.
func ParseRight(name string) (Right, bool) {
	at := slices.Index(rightNames, name)
	if at < 0 {
		return None, false
	}
	return 1 << at, true
}

// SumOf returns the sum of the rights with these names, in large or small letters.
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

// Names returns the names of the rights, in the order of the constants.
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

// String returns the rights as people read them.
func (r Right) String() string {
	if names := r.Names(); len(names) > 0 {
		return strings.Join(names, " or ")
	}
	return "right " + strconv.FormatUint(uint64(r), 10)
}
