package identity

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/hosts"
)

// InitialMember is a host at a cluster's bootstrap.
type InitialMember struct {
	ID          shard.HostID      `json:"id"`
	Name        string            `json:"name"`
	Incarnation hosts.Incarnation `json:"incarnation"`
	// Raft is the initial member's address for remote hosts at the bootstrap, empty if it had none.
	Raft string `json:"raft,omitempty"`
}

// Generation distinguishes a restored or recovered cluster from its origin. Generation is zero for a cluster that was
// never restored. The first four bytes are the generation number, and the remaining bytes are random.
type Generation [16]byte

// NewGeneration draws a generation with a number.
func NewGeneration(number uint32) (g Generation) {
	_, _ = rand.Read(g[4:]) // never fails
	binary.BigEndian.PutUint32(g[:], number)
	return g
}

// Number increases by one with every cluster created from an earlier cluster.
func (g Generation) Number() uint32 { return binary.BigEndian.Uint32(g[:]) }

// MarshalText implements encoding.TextMarshaler.
func (g Generation) MarshalText() ([]byte, error) { return hosts.Incarnation(g).MarshalText() }

// UnmarshalText implements encoding.TextUnmarshaler.
func (g *Generation) UnmarshalText(text []byte) error {
	return (*hosts.Incarnation)(g).UnmarshalText(text)
}

// Bootstrap contains the facts fixed at a cluster's bootstrap.
type Bootstrap struct {
	// Cluster is the cluster id. ClusterName is the name given at the bootstrap, empty for none.
	Cluster     string `json:"cluster"`
	ClusterName string `json:"cluster_name,omitempty"`
	// Shards is the number of data shards that the cluster was created with.
	Shards int `json:"shards"`
	// InitialMembers are the cluster's first hosts, by id.
	InitialMembers []InitialMember `json:"initial_members"`
	// Closed reports that the initial members had access rules or root tokens. While such a cluster has no access
	// rules, none of its hosts admits an anonymous client, even if the host has no root tokens itself.
	Closed bool `json:"closed,omitempty"`
}

// NewBootstrap returns the bootstrap of a cluster with the given initial members. The cluster id is derived from the
// arguments: the initial members' incarnations are random, so no two bootstraps have equal ids.
func NewBootstrap(name string, shards int, initialMembers []InitialMember) Bootstrap {
	h := sha256.New()
	_, _ = io.WriteString(h, "signalbox cluster\x00"+name+"\x00"+strconv.Itoa(shards)+"\x00")
	for _, f := range initialMembers {
		_, _ = fmt.Fprintf(h, "%d %s %s=%s\x00", f.ID, f.Incarnation, f.Name, f.Raft)
	}
	id := hex.EncodeToString(h.Sum(nil)[:clusterIDBytes])
	if name != "" {
		id = name + "-" + id
	}
	return Bootstrap{Cluster: id, ClusterName: name, Shards: shards, InitialMembers: initialMembers}
}

// ClusterName returns the cluster name a cluster id contains.
func ClusterName(id string) string { return id[:max(0, len(id)-len("-")-2*clusterIDBytes)] }

// clusterIDBytes is the length of the id part after the name, before conversion to text. With a 32-byte name the id
// has 57 bytes, and 64 are allowed.
const clusterIDBytes = 12

// InitialMember returns the initial member with a name, or nil.
func (b *Bootstrap) InitialMember(name string) *InitialMember {
	i := slices.IndexFunc(b.InitialMembers, func(f InitialMember) bool { return f.Name == name })
	if i < 0 {
		return nil
	}
	return &b.InitialMembers[i]
}

// Check returns an error for an impossible bootstrap.
func (b *Bootstrap) Check() error {
	switch {
	case len(b.InitialMembers) == 0:
		return errors.New("there are no initial members")
	case b.Shards < 1:
		return fmt.Errorf("the cluster has %d shards", b.Shards)
	case NewBootstrap(b.ClusterName, b.Shards, b.InitialMembers).Cluster != b.Cluster:
		return errors.New("the cluster id does not match the initial members")
	}
	for i, f := range b.InitialMembers {
		if f.ID != shard.HostID(i+1) || f.Name == "" || f.Incarnation == (hosts.Incarnation{}) {
			return fmt.Errorf("initial member %d is host %d, %q, incarnation %s", i+1, f.ID, f.Name, f.Incarnation)
		}
	}
	return nil
}

// Identity is a data directory's identity.
type Identity struct {
	HostName string `json:"host_name"`
	// Incarnation identifies the directory. Incarnation is drawn when the directory is created.
	Incarnation hosts.Incarnation `json:"incarnation"`
	// Starts counts the starts with the directory.
	Starts uint64 `json:"starts"`

	// HostID is the host's id, 0 while the host is in no cluster; Bootstrap is then empty too.
	HostID shard.HostID `json:"host_id"`
	Bootstrap
	// Generation is the cluster's generation.
	Generation Generation `json:"generation"`
	// Hosts are the cluster's hosts when the local host joined, including the local host; nil for an initial member.
	Hosts []InitialMember `json:"hosts,omitempty"`
	// Promise is the incarnation of a bootstrap decider: the host has promised to bootstrap with no other decider.
	// Zero means no promise.
	Promise hosts.Incarnation `json:"promise"`

	// CreatedBy is the program version that created the directory, and Created the time.
	CreatedBy string    `json:"created_by"`
	Created   time.Time `json:"created"`
	// Started reports that the log was opened once, so the log must exist.
	Started bool `json:"started"`
}

// Bootstrapped reports whether the host is in a cluster.
func (i *Identity) Bootstrapped() bool { return i.HostID != 0 }

// Joined reports whether the host joined an existing cluster.
func (i *Identity) Joined() bool { return len(i.Hosts) > 0 }

// Deployment returns the number by which hosts in one cluster recognise each other's messages. Deployment is never
// zero.
func (i *Identity) Deployment() uint64 {
	sum := sha256.Sum256([]byte("signalbox deployment\x00" + i.Cluster))
	return binary.LittleEndian.Uint64(sum[:]) | 1
}

// First returns the first known hosts in the cluster: the initial members, or the hosts at the time of the host's
// join.
func (i *Identity) First() []InitialMember {
	if i.Joined() {
		return i.Hosts
	}
	return i.InitialMembers
}

// check returns an error for an impossible identity. A file that fails the check was not written by this program.
func (i *Identity) check() error {
	switch {
	case i.HostName == "" || i.Incarnation == (hosts.Incarnation{}):
		return errors.New("the host name or the incarnation is missing")
	case !i.Bootstrapped() && (len(i.InitialMembers) > 0 || len(i.Hosts) > 0 || i.Cluster != "" || i.Started):
		return errors.New("the cluster is set, but the host id is missing")
	case !i.Bootstrapped():
		return nil
	}
	if err := i.checkBootstrap(); err != nil {
		return err
	}
	own := 0
	for _, f := range slices.Concat(i.InitialMembers, i.Hosts) {
		// A replacement host may have the name of the replaced host.
		same := f.ID == i.HostID
		if same && f.Name != i.HostName || same != (f.Incarnation == i.Incarnation) {
			return fmt.Errorf("host %d is %s, incarnation %s, but host %d in the cluster is %s, incarnation %s",
				i.HostID, i.HostName, i.Incarnation, f.ID, f.Name, f.Incarnation)
		}
		if same {
			own++
		}
	}
	if own != 1 {
		return fmt.Errorf("host %d occurs %d times in its cluster", i.HostID, own)
	}
	return nil
}

// checkBootstrap returns an error for an impossible bootstrap. A restored cluster begins with one host; the host's id
// continues after the ids before the restore, and the cluster may keep its old id.
func (i *Identity) checkBootstrap() error {
	if i.Generation == (Generation{}) {
		return i.Bootstrap.Check()
	}
	if len(i.InitialMembers) != 1 || i.Shards < 1 || i.Cluster == "" {
		return fmt.Errorf("a restored cluster needs an id, shards and one first host, not %q, %d and %d", i.Cluster,
			i.Shards, len(i.InitialMembers))
	}
	if f := i.InitialMembers[0]; f.ID == 0 || f.Name == "" || f.Incarnation == (hosts.Incarnation{}) {
		return fmt.Errorf("the first host is host %d, %q, incarnation %s", f.ID, f.Name, f.Incarnation)
	}
	return nil
}

// formatHosts formats initial members in the settings notation.
func formatHosts(initialMembers []InitialMember) string {
	var list []string
	for _, f := range initialMembers {
		list = append(list, f.Name+"="+f.Raft)
	}
	return strings.Join(list, ",")
}
