package identity

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/signalbox/signalbox/shard"
)

// Host is one of the hosts that a cluster begins with.
type Host struct {
	ID   shard.HostID `json:"id"`
	Name string       `json:"name"`
	// Raft is the address at which other hosts reach it.
	Raft string `json:"raft"`
}

// Identity is whose a data directory is.
type Identity struct {
	// Cluster is the id of the cluster; ClusterName is the name that it was made with, empty for none.
	Cluster     string `json:"cluster"`
	ClusterName string `json:"cluster_name,omitempty"`
	// HostID and HostName are the host's.
	HostID   shard.HostID `json:"host_id"`
	HostName string       `json:"host_name"`
	// Shards is the number of data shards.
	Shards int `json:"shards"`
	// FirstHosts are the hosts that the cluster began with, by id.
	FirstHosts []Host `json:"first_hosts"`
	// CreatedBy is the version of the program that made the directory, Created when.
	CreatedBy string    `json:"created_by"`
	Created   time.Time `json:"created"`
	// Started: the log was opened once, so it must be there.
	Started bool `json:"started"`
}

// clusterIDBytes is the length of the part of a cluster's id that is not its name, before it is turned
// into text. With a name of 32 bytes the id has 57, and 64 are possible.
const clusterIDBytes = 12

// clusterID makes the id of a new cluster. Several hosts must agree on it before they can connect, so it
// follows from the settings that all of them have. That includes the number of shards: hosts that differ in it must not
// connect at all. A single host draws a random id.
func clusterID(name string, hosts []Host, shards int) string {
	var random [clusterIDBytes]byte
	id := random[:]
	if len(hosts) > 1 {
		h := sha256.New()
		_, _ = io.WriteString(h, "signalbox cluster\x00"+name+"\x00"+strconv.Itoa(shards)+"\x00")
		for _, host := range hosts {
			_, _ = io.WriteString(h, host.Name+"="+host.Raft+"\x00")
		}
		id = h.Sum(nil)[:clusterIDBytes]
	} else {
		_, _ = rand.Read(id) // never fails
	}
	text := hex.EncodeToString(id)
	if name != "" {
		return name + "-" + text
	}
	return text
}

// Deployment is the number by which hosts of one cluster know each other's messages. It is not zero.
func (i *Identity) Deployment() uint64 {
	sum := sha256.Sum256([]byte("signalbox deployment\x00" + i.Cluster))
	return binary.LittleEndian.Uint64(sum[:]) | 1
}

// HostIDs are the ids of the first hosts.
func (i *Identity) HostIDs() []shard.HostID {
	ids := make([]shard.HostID, 0, len(i.FirstHosts))
	for _, h := range i.FirstHosts {
		ids = append(ids, h.ID)
	}
	return ids
}

// Members are the addresses of the first hosts by their ids.
func (i *Identity) Members() map[shard.HostID]string {
	members := make(map[shard.HostID]string, len(i.FirstHosts))
	for _, h := range i.FirstHosts {
		members[h.ID] = h.Raft
	}
	return members
}

// check returns what cannot be true of an identity. A file that fails was not written by this program.
func (i *Identity) check() error {
	switch {
	case i.Cluster == "" || i.HostName == "" || i.HostID == 0:
		return fmt.Errorf("it lacks the cluster, the host's name or the host's id")
	case i.Shards < 1:
		return fmt.Errorf("it has %d shards", i.Shards)
	case !slices.ContainsFunc(i.FirstHosts, func(h Host) bool { return h.ID == i.HostID && h.Name == i.HostName }):
		return fmt.Errorf("host %s is not among its first hosts", i.HostName)
	}
	return nil
}

// formatHosts shows hosts as the settings write them.
func formatHosts(hosts []Host) string {
	var list []string
	for _, h := range hosts {
		list = append(list, h.Name+"="+h.Raft)
	}
	return strings.Join(list, ",")
}
