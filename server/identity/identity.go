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

// Founder is one of the hosts that a cluster begins with.
type Founder struct {
	ID          shard.HostID      `json:"id"`
	Name        string            `json:"name"`
	Incarnation hosts.Incarnation `json:"incarnation"`
	// Raft is the address at which other hosts reached it at the birth, empty where there was none.
	Raft string `json:"raft,omitempty"`
}

// Generation distinguishes a cluster from the one of which it was restored or recovered. It is zero in one that never
// was. The first four bytes are its number, and the others are random.
type Generation [16]byte

// NewGeneration draws the generation of a number.
func NewGeneration(number uint32) (g Generation) {
	_, _ = rand.Read(g[4:]) // never fails
	binary.BigEndian.PutUint32(g[:], number)
	return g
}

// Number is one more with each cluster that is made of another one.
func (g Generation) Number() uint32 { return binary.BigEndian.Uint32(g[:]) }

// MarshalText implements encoding.TextMarshaler.
func (g Generation) MarshalText() ([]byte, error) { return hosts.Incarnation(g).MarshalText() }

// UnmarshalText implements encoding.TextUnmarshaler.
func (g *Generation) UnmarshalText(text []byte) error {
	return (*hosts.Incarnation)(g).UnmarshalText(text)
}

// Birth is what was fixed when a cluster was born.
type Birth struct {
	// Cluster is the id of the cluster; ClusterName is the name that it was made with, empty for none.
	Cluster     string `json:"cluster"`
	ClusterName string `json:"cluster_name,omitempty"`
	// Shards is the number of data shards.
	Shards int `json:"shards"`
	// Founders are the hosts that the cluster began with, by id.
	Founders []Founder `json:"founders"`
}

// NewBirth is that of a cluster of these founders. Its id follows from what it is made of: as each founder's
// incarnation is random, no two births have the same.
func NewBirth(name string, shards int, founders []Founder) Birth {
	h := sha256.New()
	_, _ = io.WriteString(h, "signalbox cluster\x00"+name+"\x00"+strconv.Itoa(shards)+"\x00")
	for _, f := range founders {
		_, _ = fmt.Fprintf(h, "%d %s %s=%s\x00", f.ID, f.Incarnation, f.Name, f.Raft)
	}
	id := hex.EncodeToString(h.Sum(nil)[:clusterIDBytes])
	if name != "" {
		id = name + "-" + id
	}
	return Birth{Cluster: id, ClusterName: name, Shards: shards, Founders: founders}
}

// ClusterName returns the name that a cluster was made with, by its id.
func ClusterName(id string) string { return id[:max(0, len(id)-len("-")-2*clusterIDBytes)] }

// clusterIDBytes is the length of the part of a cluster's id that is not its name, before it is turned
// into text. With a name of 32 bytes the id has 57, and 64 are possible.
const clusterIDBytes = 12

// Founder returns the founder with a name, nil where there is none.
func (b *Birth) Founder(name string) *Founder {
	i := slices.IndexFunc(b.Founders, func(f Founder) bool { return f.Name == name })
	if i < 0 {
		return nil
	}
	return &b.Founders[i]
}

// Check returns what cannot be true of a birth.
func (b *Birth) Check() error {
	switch {
	case len(b.Founders) == 0:
		return errors.New("there are no founders")
	case b.Shards < 1:
		return fmt.Errorf("it has %d shards", b.Shards)
	case NewBirth(b.ClusterName, b.Shards, b.Founders).Cluster != b.Cluster:
		return errors.New("the id of the cluster is not that of its founders")
	}
	for i, f := range b.Founders {
		if f.ID != shard.HostID(i+1) || f.Name == "" || f.Incarnation == (hosts.Incarnation{}) {
			return fmt.Errorf("founder %d is host %d, %q, incarnation %s", i+1, f.ID, f.Name, f.Incarnation)
		}
	}
	return nil
}

// Identity is whose a data directory is.
type Identity struct {
	HostName string `json:"host_name"`
	// Incarnation is the directory's own, drawn when it was made.
	Incarnation hosts.Incarnation `json:"incarnation"`
	// Starts counts the starts on the directory.
	Starts uint64 `json:"starts"`

	// HostID is the host's, zero while it belongs to no cluster: then Birth is empty as well.
	HostID shard.HostID `json:"host_id"`
	Birth
	// Generation is that of the cluster.
	Generation Generation `json:"generation"`
	// Hosts are those that the cluster had when this one joined, itself among them; none where it is a founder.
	Hosts []Founder `json:"hosts,omitempty"`
	// Promise is to whom of the hosts that are named at birth this one has promised not to be born with any other: the
	// incarnation of the one that decides. Zero where it has promised nothing.
	Promise hosts.Incarnation `json:"promise"`

	// CreatedBy is the version of the program that made the directory, Created when.
	CreatedBy string    `json:"created_by"`
	Created   time.Time `json:"created"`
	// Started: the log was opened once, so it must be there.
	Started bool `json:"started"`
}

// Born reports whether the host belongs to a cluster.
func (i *Identity) Born() bool { return i.HostID != 0 }

// Joined reports whether the host belongs to a cluster that was there before it.
func (i *Identity) Joined() bool { return len(i.Hosts) > 0 }

// Deployment is the number by which hosts of one cluster know each other's messages. It is not zero.
func (i *Identity) Deployment() uint64 {
	sum := sha256.Sum256([]byte("signalbox deployment\x00" + i.Cluster))
	return binary.LittleEndian.Uint64(sum[:]) | 1
}

// First are the hosts of the cluster that the host knew of first: the founders, or those that were there when it
// joined.
func (i *Identity) First() []Founder {
	if i.Joined() {
		return i.Hosts
	}
	return i.Founders
}

// check returns what cannot be true of an identity. A file that fails was not written by this program.
func (i *Identity) check() error {
	switch {
	case i.HostName == "" || i.Incarnation == (hosts.Incarnation{}):
		return errors.New("it lacks the host's name or its incarnation")
	case !i.Born() && (len(i.Founders) > 0 || len(i.Hosts) > 0 || i.Cluster != "" || i.Started):
		return errors.New("it has a cluster, and no id in it")
	case !i.Born():
		return nil
	}
	if err := i.checkBirth(); err != nil {
		return err
	}
	own := 0
	for _, f := range slices.Concat(i.Founders, i.Hosts) {
		// A host that has joined in the place of another one may have its name.
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

// checkBirth returns what cannot be true of the birth. A cluster that is restored begins with one host, whose id goes
// on from those of before, and may have the id that it had.
func (i *Identity) checkBirth() error {
	if i.Generation == (Generation{}) {
		return i.Birth.Check()
	}
	if len(i.Founders) != 1 || i.Shards < 1 || i.Cluster == "" {
		return fmt.Errorf("a restored cluster has an id, shards and one first host, and not %q, %d and %d", i.Cluster,
			i.Shards, len(i.Founders))
	}
	if f := i.Founders[0]; f.ID == 0 || f.Name == "" || f.Incarnation == (hosts.Incarnation{}) {
		return fmt.Errorf("its first host is host %d, %q, incarnation %s", f.ID, f.Name, f.Incarnation)
	}
	return nil
}

// formatHosts shows founders as the settings write them.
func formatHosts(founders []Founder) string {
	var list []string
	for _, f := range founders {
		list = append(list, f.Name+"="+f.Raft)
	}
	return strings.Join(list, ",")
}
