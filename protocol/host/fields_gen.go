// Code generated from the structs with wire tags by: go test ./test/tidy -run Values -update. DO NOT EDIT.

package host

import (
	"github.com/signalbox/signalbox/protocol/field"
)

// Fields implements field.Value.
func (s *Step) Fields(c field.Coder) {
	c.Number("id", &s.ID)
	c.Text("kind", &s.Kind, MaxWord)
	c.Text("text", &s.Text, MaxLong)
	c.Text("rule", &s.Rule, MaxWord)
	c.Text("subject", &s.Subject, MaxSubject)
	c.Number("shard_id", &s.Shard)
	c.Number("host_id", &s.Host)
	c.Millis("in_ms", &s.In)
	c.Millis("age_ms", &s.Age)
	c.Count("failures", &s.Failures)
	c.Text("last_error", &s.LastError, MaxText)
	c.Millis("wait_ms", &s.Wait)
}

// Fields implements field.Value.
func (r *Reason) Fields(c field.Coder) {
	c.Text("code", &r.Code, MaxWord)
	c.Text("text", &r.Text, MaxLong)
	c.Text("rule", &r.Rule, MaxWord)
	c.Words("subjects", &r.Subjects, maxSubjects, MaxSubject)
	c.Millis("age_ms", &r.Since)
	c.Millis("left_ms", &r.Left)
}

// Fields implements field.Value.
func (s *SlotMove) Fields(c field.Coder) {
	c.Number("slot", &s.Slot)
	c.Number("from_shard_id", &s.From)
	c.Number("to_shard_id", &s.To)
	c.Number("into_shard_id", &s.Into)
	c.Number("generation", &s.Generation)
	c.Flag("large", &s.Large)
	c.Text("author", &s.Author, MaxText)
	c.Text("reason", &s.Reason, MaxText)
	c.Millis("age_ms", &s.Age)
	c.Count("failures", &s.Failures)
	c.Text("last_error", &s.LastError, MaxText)
	c.Millis("wait_ms", &s.Wait)
}

// Fields implements field.Value.
func (s *ShardSlots) Fields(c field.Coder) {
	c.Number("id", &s.ID)
	c.Text("phase", &s.Phase, MaxWord)
	c.Number("weight", &s.Weight)
	c.Count("slots", &s.Slots)
	c.Count("target", &s.Target)
}

// Fields implements field.Value.
func (p *PlannedMoves) Fields(c field.Coder) {
	c.Number("from_shard_id", &p.From)
	c.Number("to_shard_id", &p.To)
	c.Count("slots", &p.Slots)
}

// Fields implements field.Value.
func (e *Entry) Fields(c field.Coder) {
	c.Number("id", &e.ID)
	c.Text("event", &e.Event, MaxWord)
	c.Number("host_id", &e.Host)
	c.Text("host_name", &e.HostName, MaxName)
	c.Text("text", &e.Text, MaxText)
	c.Text("author", &e.Author, MaxText)
	c.Text("reason", &e.Reason, MaxText)
	field.Time(c, "wall_ms", &e.At)
}

// Fields implements field.Value.
func (p *Policy) Fields(c field.Coder) {
	c.Count("voters", &p.Voters)
	c.Millis("offline_after_ms", &p.OfflineAfter)
	c.Millis("replace_after_ms", &p.ReplaceAfter)
	c.Millis("stable_for_ms", &p.StableFor)
	c.Millis("balance_every_ms", &p.BalanceEvery)
	c.Count("max_replica_builds", &p.Copies)
	c.Count("replicas", &p.Replicas)
	c.Text("meta_voter_label", &p.Tier, 2*MaxLabel+1)
}

// Fields implements field.Value.
func (r *Replica) Fields(c field.Coder) {
	c.Number("id", &r.ID)
	c.Number("host_id", &r.Host)
	field.Enum(c, "role", &r.Role, Roles)
	c.Millis("age_ms", &r.Since)
	c.Flag("observed", &r.Observed)
	c.Number("index", &r.Index)
	c.Millis("behind_ms", &r.Behind)
	c.Count("snapshot_percent", &r.SnapshotPercent)
	c.Number("snapshot_rate", &r.SnapshotRate)
}

// Fields implements field.Value.
func (d *DomainLoss) Fields(c field.Coder) {
	c.Text("label", &d.Label, MaxDomain)
	c.Count("live", &d.Live)
	c.Flag("tolerated", &d.Tolerated)
}
