package protocol

import "github.com/signalbox/signalbox/protocol/concern"

// The records that a ClusterDescribeAnswer consists of.

// Generation distinguishes a cluster from the one that it was made of by a recovery. It is all zero before the first.
type Generation struct {
	Number uint64
	Draw   []byte // 16 random bytes
}

func (g *Generation) fields(c *codec) {
	c.uint("number", &g.Number)
	c.bytes("draw", &g.Draw, MaxIncarnationBytes)
}

// ClusterConcerns is a list of what is not as it should be with the hosts.
type ClusterConcerns = List[Concern, *Concern]

// Concern is something that is not as it should be with the hosts, as clients of before level 7 read it.
type Concern struct {
	Severity concern.Severity
	// Code is for programs, Text for people, Mend what to do, with the command where there is one.
	Code   []byte
	Text   []byte
	Mend   []byte
	HostID uint64 // 0 for none
	// Shards are those that it is about; none where it is about all or none.
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
