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

// InitialMember is a host at the bootstrap of a cluster.
type InitialMember struct {
	ID          shard.HostID      `json:"id"`
	Name        string            `json:"name"`
	Incarnation hosts.Incarnation `json:"incarnation"`
	// Raft is the address of the initial member for other hosts at the bootstrap, empty if the initial member had none.
	Raft string `json:"raft,omitempty"`
}

// Generation distinguishes a restored or recovered cluster from its origin. The generation of a cluster never
// restored is zero. The first four bytes are the number of the generation, and the remaining bytes are random.
type Generation [16]byte

// NewGeneration draws the generation of a number.
func NewGeneration(number uint32) (g Generation) {
	_, _ = rand.Read(g[4:]) // never fails
	binary.BigEndian.PutUint32(g[:], number)
	return g
}

// Number goes up by one with every cluster made of an earlier cluster.
func (g Generation) Number() uint32 { return binary.BigEndian.Uint32(g[:]) }

// MarshalText implements encoding.TextMarshaler.
func (g Generation) MarshalText() ([]byte, error) { return hosts.Incarnation(g).MarshalText() }

// UnmarshalText implements encoding.TextUnmarshaler.
func (g *Generation) UnmarshalText(text []byte) error {
	return (*hosts.Incarnation)(g).UnmarshalText(text)
}

// Bootstrap is the set of facts fixed at the bootstrap of a cluster.
type Bootstrap struct {
	// Cluster is the id of the cluster; ClusterName is the name given at the bootstrap, empty for none.
	Cluster     string `json:"cluster"`
	ClusterName string `json:"cluster_name,omitempty"`
	// Shards is the number of data shards.
	Shards int `json:"shards"`
	// InitialMembers are the first hosts of the cluster, by id.
	InitialMembers []InitialMember `json:"initial_members"`
	// Closed: the initial members had access rules or root tokens. While such a cluster has no access rules, no host of
	// it lets in an anonymous client, with or without a file of its own.
	Closed bool `json:"closed,omitempty"`
}

// NewBootstrap is the bootstrap of a cluster of the given initial members. The id of the cluster follows from the
// arguments: as the incarnations of the initial members are random, no two bootstraps have equal ids.
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

// ClusterName returns the name of a cluster, by its id.
func ClusterName(id string) string { return id[:max(0, len(id)-len("-")-2*clusterIDBytes)] }

// clusterIDBytes is the length of the part of a cluster's id after the name, before the conversion to text. With a
// name of 32 bytes the id has 57, and 64 are possible.
const clusterIDBytes = 12

// InitialMember returns the initial member with a name, or nil.
func (b *Bootstrap) InitialMember(name string) *InitialMember {
	i := slices.IndexFunc(b.InitialMembers, func(f InitialMember) bool { return f.Name == name })
	if i < 0 {
		return nil
	}
	return &b.InitialMembers[i]
}

// Check returns an impossible fact of a bootstrap.
func (b *Bootstrap) Check() error {
	switch {
	case len(b.InitialMembers) == 0:
		return errors.New("there are no initial members")
	case b.Shards < 1:
		return fmt.Errorf("it has %d shards", b.Shards)
	case NewBootstrap(b.ClusterName, b.Shards, b.InitialMembers).Cluster != b.Cluster:
		return errors.New("the id of the cluster is not that of its initial members")
	}
	for i, f := range b.InitialMembers {
		if f.ID != shard.HostID(i+1) || f.Name == "" || f.Incarnation == (hosts.Incarnation{}) {
			return fmt.Errorf("initial member %d is host %d, %q, incarnation %s", i+1, f.ID, f.Name, f.Incarnation)
		}
	}
	return nil
}

// Identity is the identity of a data directory.
type Identity struct {
	HostName string `json:"host_name"`
	// Incarnation is the directory's own, drawn when the directory was made.
	Incarnation hosts.Incarnation `json:"incarnation"`
	// Starts counts the starts on the directory.
	Starts uint64 `json:"starts"`

	// HostID is the host's id, zero while the host belongs to no cluster: then Bootstrap is empty as well.
	HostID shard.HostID `json:"host_id"`
	Bootstrap
	// Generation is the generation of the cluster.
	Generation Generation `json:"generation"`
	// Hosts are the hosts of the cluster when this host joined, including this host; nil for an initial member.
	Hosts []InitialMember `json:"hosts,omitempty"`
	// Promise is the incarnation of the decider of a bootstrap: this host has promised to bootstrap with no other
	// decider. Promise is zero without a promise.
	Promise hosts.Incarnation `json:"promise"`

	// CreatedBy is the version of the program that made the directory, Created the time.
	CreatedBy string    `json:"created_by"`
	Created   time.Time `json:"created"`
	// Started: the log was opened once, so the log must be there.
	Started bool `json:"started"`
}

// Bootstrapped reports whether the host belongs to a cluster.
func (i *Identity) Bootstrapped() bool { return i.HostID != 0 }

// Joined reports whether the host belongs to a cluster older than the host.
func (i *Identity) Joined() bool { return len(i.Hosts) > 0 }

// Deployment is the number by which hosts of one cluster know each other's messages. Deployment is not zero.
func (i *Identity) Deployment() uint64 {
	sum := sha256.Sum256([]byte("signalbox deployment\x00" + i.Cluster))
	return binary.LittleEndian.Uint64(sum[:]) | 1
}

// First are the first known hosts of the cluster: the initial members, or the hosts at the time of the host's join.
func (i *Identity) First() []InitialMember {
	if i.Joined() {
		return i.Hosts
	}
	return i.InitialMembers
}

// check returns an impossible fact of an identity. A file that fails the check was not written by this program.
func (i *Identity) check() error {
	switch {
	case i.HostName == "" || i.Incarnation == (hosts.Incarnation{}):
		return errors.New("it lacks the host's name or its incarnation")
	case !i.Bootstrapped() && (len(i.InitialMembers) > 0 || len(i.Hosts) > 0 || i.Cluster != "" || i.Started):
		return errors.New("it has a cluster, and no id in it")
	case !i.Bootstrapped():
		return nil
	}
	if err := i.checkBootstrap(); err != nil {
		return err
	}
	own := 0
	for _, f := range slices.Concat(i.InitialMembers, i.Hosts) {
		// A host that has replaced another host may have its name.
		same := f.ID == i.HostID
		if same && f.Name != i.HostName || same != (f.Incarnation == i.Incarnation) {
			return fmt.Errorf("host %d is %s, incarnation %s, and host %d of the cluster is %s, incarnation %s",
				i.HostID, i.HostName, i.Incarnation, f.ID, f.Name, f.Incarnation)
		}
		if same {
			own++
		}
	}
	if own != 1 {
		return fmt.Errorf("host %d is %d times among the hosts of its cluster", i.HostID, own)
	}
	return nil
}

// checkBootstrap returns an impossible fact of the bootstrap. A restored cluster begins with one host; the host's id
// goes on from the ids before the restore, and the cluster may keep its old id.
func (i *Identity) checkBootstrap() error {
	if i.Generation == (Generation{}) {
		return i.Bootstrap.Check()
	}
	if len(i.InitialMembers) != 1 || i.Shards < 1 || i.Cluster == "" {
		return fmt.Errorf("a restored cluster has an id, shards and one first host, and not %q, %d and %d", i.Cluster,
			i.Shards, len(i.InitialMembers))
	}
	if f := i.InitialMembers[0]; f.ID == 0 || f.Name == "" || f.Incarnation == (hosts.Incarnation{}) {
		return fmt.Errorf("its first host is host %d, %q, incarnation %s", f.ID, f.Name, f.Incarnation)
	}
	return nil
}

// formatHosts shows initial members in the notation of the settings.
func formatHosts(initialMembers []InitialMember) string {
	var list []string
	for _, f := range initialMembers {
		list = append(list, f.Name+"="+f.Raft)
	}
	return strings.Join(list, ",")
}
