package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/signalbox/signalbox/cmd/signalbox/internal/pages"
	"github.com/signalbox/signalbox/shard/meta"
)

// nearQuota is the share of a quota from which on check warns.
const nearQuota = 0.8

// checkQuotas judges how much the shards on a host have used of their quotas, and the nodes in them.
func checkQuotas(h *pages.Reading, x *findings) {
	name, m := h.Name(), h.Metrics
	if m.Sum("signalbox_feature_level") < float64(meta.QuotaLevel) {
		return // no quota is in force
	}
	subject := "quotas of " + name
	var near, other []string
	most := 0.0
	note := func(what string, share float64) {
		if most = max(most, share); share > nearQuota {
			near = append(near, fmt.Sprintf("%.0f %% of %s", 100*share, what))
		}
	}
	for _, q := range []struct{ used, quota, what string }{
		{"signalbox_shard_objects", "signalbox_shard_object_quota", "objects"},
		{"signalbox_shard_bytes", "signalbox_shard_byte_quota", "bytes"},
		{"signalbox_node_objects", "signalbox_node_object_quota", "objects"},
		{"signalbox_node_bytes", "signalbox_node_byte_quota", "bytes"},
	} {
		for _, s := range m[q.used] {
			id, node := s.Labels["shard"], s.Labels["node"]
			where := "shard " + id
			pairs := []string{"shard", id}
			if node != "" {
				where, pairs = fmt.Sprintf("node %s in shard %s", node, id), append(pairs, "node", node)
			}
			if quota := m.Sum(q.quota, pairs...); quota > 0 {
				note("the "+q.what+" of "+where, s.Value/quota)
			}
		}
	}
	for _, q := range []struct{ quota, setting, flag string }{
		{"signalbox_shard_object_quota", "signalbox_shard_object_quota_setting", "--shard-objects"},
		{"signalbox_shard_byte_quota", "signalbox_shard_byte_quota_setting", "--shard-bytes"},
	} {
		given := m.Sum(q.setting)
		if differs := func(s pages.Sample) bool { return s.Value != given }; slices.ContainsFunc(m[q.quota], differs) {
			at := slices.IndexFunc(m[q.quota], differs)
			other = append(other, fmt.Sprintf("%s is %.0f, and shard %s has %.0f",
				q.flag, given, m[q.quota][at].Labels["shard"], m[q.quota][at].Value))
		}
	}
	switch {
	case len(near) > 0:
		x.add(levelWarn, subject, "free what is not needed, or raise the quota: of a node with signalbox node alter, "+
			"of shards with --shard-objects and --shard-bytes",
			"used are %s", strings.Join(near, ", "))
	default:
		x.well(subject, "%.0f %% of the fullest is used", 100*most)
	}
	if len(other) > 0 {
		x.add(levelWarn, "quota settings of "+name, "give all hosts the same --shard-objects and --shard-bytes: the "+
			"settings of the host that leads a shard count",
			"%s", strings.Join(other, "; "))
	}
}
