package operation

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/signalbox/signalbox/client"
)

// NodeRef names a node.
type NodeRef struct {
	Node string `need:"true" arg:"PATH" about:"Node path, such as /prod/jobs"`
}

// Named names an object in a node.
type Named struct {
	NodeRef
	Name string `need:"true" about:"Name in the node"`
}

// objectsRequest asks for all objects with one kind.
type objectsRequest struct {
	Node string `arg:"PATH" about:"Only objects in this node"`
	Paged
}

func (o *objectsRequest) node() string { return o.Node }

// objectRequest asks for an object.
type objectRequest struct {
	Named
	Strict bool `about:"Linearizable read: see every change acknowledged before" help:"Linearizable read: see every change acknowledged before, at the cost of a round between the hosts"`
}

// consistency returns the read's consistency option.
func (o *objectRequest) consistency() client.Consistency {
	if o.Strict {
		return client.Strict
	}
	return 0
}

// deleteRequest names an object to delete.
type deleteRequest struct {
	Named
	Force bool `about:"Delete even if sessions own it or wait for it" help:"Delete it even if it is in use"`
}

// screenPause is how often a rollout or a process is shown anew though nothing has changed: ages grow with time alone.
const screenPause = 2 * time.Second

// OrNothing is a number in a table, a dash for 0.
type OrNothing uint64

// String implements fmt.Stringer.
func (n OrNothing) String() string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(uint64(n))
}

// OutOf formats a fraction for tables.
func OutOf(n, all int) string { return fmt.Sprintf("%d of %d", n, all) }

// Plural formats a number with a noun.
func Plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	if strings.HasSuffix(noun, "s") {
		noun += "e"
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// ShortTime is a time as people read a time at a glance.
func ShortTime(d time.Duration) string {
	switch {
	case d < 10*time.Second:
		return d.Round(100 * time.Millisecond).String()
	case d < time.Hour:
		return d.Truncate(time.Second).String()
	case d < 48*time.Hour:
		return strings.TrimSuffix(d.Truncate(time.Minute).String(), "0s")
	}
	return fmt.Sprintf("%dd", d/(24*time.Hour))
}

// Amount is a semaphore count or limit in human-readable form: client.All is the word all.
type Amount uint64

// everything is the word for client.All.
const everything = "all"

// String returns the number, or all.
func (a Amount) String() string {
	if a == client.All {
		return everything
	}
	return strconv.FormatUint(uint64(a), 10)
}

// Set reads a number from 1 on, or all.
func (a *Amount) Set(text string) error {
	if text == everything {
		*a = client.All
		return nil
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil || n == 0 {
		return fmt.Errorf("give a whole number from 1 on, or %s", everything)
	}
	*a = Amount(n)
	return nil
}

// Type is the word for the value in the help.
func (a *Amount) Type() string { return "NUMBER" }

// DataHelp says how commands take data.
const DataHelp = `Data is literal text, @FILE to read a file, or - to read standard input. For data that
begins with @, write @@.`

// ClientText is a client's name and version in a table.
func ClientText(c client.ClientInfo) string {
	if c.Name == "" || c.Version == "" {
		return c.Name + c.Version
	}
	return c.Name + " " + c.Version
}
