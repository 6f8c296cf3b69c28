package protocol

import "github.com/signalbox/signalbox/protocol/concern"

// The records of a ClusterDescribeAnswer.

// Generation distinguishes a cluster from the cluster before a recovery. Before the first recovery both fields are
// zero.
type Generation struct {
	Number uint64
	Draw   []byte // 16 random bytes
}

func (g *Generation) fields(c *codec) {
	c.uint("number", &g.Number)
	c.bytes("draw", &g.Draw, MaxIncarnationBytes)
}

// ClusterConcerns is a list of troubles of the hosts.
type ClusterConcerns = List[Concern, *Concern]

// Concern is a trouble of the hosts, in the form for clients below level 7.
type Concern struct {
	Severity concern.Severity
	// Code is for programs, Text for people. Mend says how to mend the trouble, with a command if possible.
	Code   []byte
	Text   []byte
	Mend   []byte
	HostID uint64 // 0 for none
	// Shards are the shards in trouble; empty where all shards are, or none.
	Shards ShardIDs
}

func (con *Concern) item(c *codec) { c.record("", con.fields) }

func (con *Concern) fields(c *codec) {
	enum(c, "severity", &con.Severity)
	c.text("code", &con.Code, MaxWordBytes)
	c.text("text", &con.Text, MaxReasonBytes)
	c.text("mend", &con.Mend, MaxReasonBytes)
	c.uint("host_id", &con.HostID)
	con.Shards.list(c, "shards")
}

// ShardIDs is a list of shards.
type ShardIDs = List[ShardID, *ShardID]

// ShardID is the id of a shard as an item of a list.
type ShardID uint64

func (si *ShardID) item(c *codec) { c.uint("", (*uint64)(si)) }
