package server

import (
	"cmp"
	"fmt"
	"io"
	"slices"

	"github.com/signalbox/signalbox/shard"
)

const (
	// maxQuotaNodes limits the nodes with quota series, over all shards, fullest first.
	maxQuotaNodes = 25
	// quotaShare is the used quota share above which a node has series. leastShare is the used share above which a
	// node is a candidate for the fullest nodes.
	quotaShare = 0.5
	leastShare = 0.01
)

// nodeQuota is a node's usage in a shard.
type nodeQuota struct {
	shard uint64
	shard.NodeUsage
}

// writeQuotas writes shard quota usage, and node quota usage where little is left. All replicas have equal numbers,
// so only a shard's leader shows its nodes.
func (h *Host) writeQuotas(w io.Writer) {
	gauge := func(name, labels string, v float64) { fmt.Fprintf(w, "%s%s %g\n", name, labels, v) }
	given := h.set.Quotas()
	gauge("signalbox_shard_quota_setting_objects", "", float64(cmp.Or(given.Objects, shard.DefaultShardObjects)))
	gauge("signalbox_shard_quota_setting_bytes", "", float64(cmp.Or(given.Bytes, shard.DefaultShardBytes)))
	var full []nodeQuota
	for _, r := range h.set.All() {
		if !r.Holds() {
			continue
		}
		u := r.Machine.Usage(0)
		labels := fmt.Sprintf(`{shard="%d"}`, r.ID)
		gauge("signalbox_shard_quota_used_objects", labels, float64(u.Objects))
		gauge("signalbox_shard_quota_limit_objects", labels, float64(u.ObjectLimit))
		gauge("signalbox_shard_quota_used_bytes", labels, float64(u.Bytes))
		gauge("signalbox_shard_quota_limit_bytes", labels, float64(u.ByteLimit))
		fullest := 0.0
		for i, n := range r.Machine.FullestNodes(leastShare, maxQuotaNodes, nil) {
			if i == 0 {
				fullest = n.Share()
			}
			if n.Share() >= quotaShare && r.Leads() {
				full = append(full, nodeQuota{r.ID, n})
			}
		}
		gauge("signalbox_shard_max_node_quota_ratio", labels, fullest)
	}
	slices.SortStableFunc(full, func(a, b nodeQuota) int { return cmp.Compare(b.Share(), a.Share()) })
	for _, n := range full[:min(len(full), maxQuotaNodes)] {
		node, ok := h.meta.Machine.NodeByID(n.Node)
		if !ok {
			continue // the node was dropped, and is being cleared
		}
		labels := fmt.Sprintf(`{shard="%d",node=%s}`, n.shard, label(node.Path))
		gauge("signalbox_node_quota_used_objects", labels, float64(n.Objects))
		gauge("signalbox_node_quota_limit_objects", labels, float64(n.ObjectLimit))
		gauge("signalbox_node_quota_used_bytes", labels, float64(n.Bytes))
		gauge("signalbox_node_quota_limit_bytes", labels, float64(n.ByteLimit))
	}
}

// Usage returns a node's quota usage in a data shard, according to the host's replica of the shard, and the limits in
// effect. Node 0 means the shard itself. For a missing shard, all values are zero.
func (h *Host) Usage(id uint64, node shard.NodeID) shard.Usage {
	if r := h.set.Shard(id); r != nil {
		return r.Machine.Usage(node)
	}
	return shard.Usage{}
}
