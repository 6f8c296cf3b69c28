package memlog

import (
	"fmt"
	"math/bits"
	"time"

	"github.com/signalbox/signalbox/shard"
)

// RecordKind is the kind of a Record.
type RecordKind uint8

// Record kinds. Every record has the time and, if applicable, group and host.
const (
	RecordOpened        RecordKind = iota + 1 // the last entry's Term and Index
	RecordClosed                              //
	RecordElected                             // Term and Index, last entry before the term
	RecordLeadership                          // Term, Peer: the leader in the host's belief
	RecordProposed                            // Term, Index
	RecordOutcome                             // Outcome
	RecordCommitted                           // whether or not a replica knows: Term, Index
	RecordApplied                             // the first entry's Term, the last entry's Index
	RecordOverwritten                         // the first dropped entry's Term and Index
	RecordSaved                               // a snapshot: Term, Index
	RecordSaveFailed                          // Index
	RecordRestored                            // Term, Index
	RecordBarrierPassed                       // Term, Index awaited
	RecordBarrierFailed                       // Term
	RecordLost                                // a message from Host to Peer
	RecordCut                                 // from Host to Peer
	RecordHealed                              // from Host to Peer
	RecordPaused                              //
	RecordResumed                             //
	RecordDown                                // Lost: unsynced entries
	RecordUp                                  //
)

var recordNames = [...]string{
	RecordOpened:        "opened",
	RecordClosed:        "closed",
	RecordElected:       "elected",
	RecordLeadership:    "believes",
	RecordProposed:      "proposed",
	RecordOutcome:       "outcome",
	RecordCommitted:     "committed",
	RecordApplied:       "applied",
	RecordOverwritten:   "overwritten",
	RecordSaved:         "saved",
	RecordSaveFailed:    "save-failed",
	RecordRestored:      "restored",
	RecordBarrierPassed: "barrier-passed",
	RecordBarrierFailed: "barrier-failed",
	RecordLost:          "lost",
	RecordCut:           "cut",
	RecordHealed:        "healed",
	RecordPaused:        "paused",
	RecordResumed:       "resumed",
	RecordDown:          "down",
	RecordUp:            "up",
}

// String returns the kind in one word.
func (k RecordKind) String() string {
	if int(k) < len(recordNames) && recordNames[k] != "" {
		return recordNames[k]
	}
	return fmt.Sprintf("record-%d", uint8(k))
}

// Record is one event in a network.
type Record struct {
	At      time.Duration // virtual time
	Kind    RecordKind
	Group   GroupID
	Host    shard.HostID
	Peer    shard.HostID
	Term    uint64
	Index   uint64
	Outcome shard.Outcome
	Lost    bool
}

// String formats the record as one line, without zero fields.
func (r Record) String() string {
	b := fmt.Appendf(nil, "%-12v %-14s", r.At, r.Kind)
	field := func(name string, v uint64) {
		if v != 0 {
			b = fmt.Appendf(b, " %s=%d", name, v)
		}
	}
	field("group", uint64(r.Group))
	field("host", uint64(r.Host))
	field("peer", uint64(r.Peer))
	field("term", r.Term)
	field("index", r.Index)
	if r.Outcome != 0 {
		b = fmt.Appendf(b, " %v", r.Outcome)
	}
	if r.Lost {
		b = append(b, " unsynced-lost"...)
	}
	return string(b)
}

// recentRecords is the number of records in a violation report.
const recentRecords = 64

// trace keeps a hash of all records, and the latest records.
type trace struct {
	sink  func(Record)
	hash  uint64
	count uint64
	ring  [recentRecords]Record
}

func (t *trace) add(now time.Duration, r Record) {
	r.At = now
	t.ring[t.count%recentRecords] = r
	t.count++
	t.mix(uint64(r.At))
	t.mix(uint64(r.Kind)<<56 ^ uint64(r.Group)<<40 ^ uint64(r.Host)<<24 ^ uint64(r.Peer)<<8 ^ uint64(r.Outcome))
	t.mix(r.Term)
	t.mix(r.Index)
	if t.sink != nil {
		t.sink(r)
	}
}

// record adds a record of the log's replica to the trace.
func (l *Log) record(r Record) {
	r.Group, r.Host = l.group.id, l.host.id
	l.net.trace.add(l.net.now, r)
}

// fired mixes an event into the hash.
func (t *trace) fired(e *event) {
	t.mix(uint64(e.at))
	t.mix(e.seq)
}

func (t *trace) mix(v uint64) {
	t.hash = bits.RotateLeft64((t.hash^v)*0x9E3779B97F4A7C15, 29)
}

// recent returns the latest records, the oldest first.
func (t *trace) recent() []Record {
	var rs []Record
	for i := t.count - min(t.count, recentRecords); i < t.count; i++ {
		rs = append(rs, t.ring[i%recentRecords])
	}
	return rs
}

// TraceHash is a hash of all records so far. Two simulated runs with equal hashes were equal, to the last message.
func (n *Network) TraceHash() uint64 {
	return locked(n, func() uint64 { return n.trace.hash })
}
