package ydb

import (
	"cmp"

	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Coordination"

	"github.com/signalbox/signalbox/protocol"
)

// YDB stores a config as requested, and derives the valid values from the request. Signalbox hosts reject values
// without effect. So the gateway stores the valid values, and the requested values if they differ.

// Valid bounds; the defaults are the hosts' defaults.
const (
	minSelfCheckMillis, maxSelfCheckMillis, defaultSelfCheckMillis = 500, 10_000, 1000
	maxGraceMillis, defaultGraceMillis                             = 30_000, 10_000
	// graceGapMillis is by how much the grace period is longer than the self-check period at least.
	graceGapMillis = 1000
)

// asked is a config as requested by SDKs.
type asked = protocol.AskedConfig

func askedOf(c *Ydb_Coordination.Config) asked {
	return asked{
		SelfCheckPeriodMillis:    uint64(c.GetSelfCheckPeriodMillis()),
		SessionGracePeriodMillis: uint64(c.GetSessionGracePeriodMillis()),
		ReadConsistency:          uint64(c.GetReadConsistencyMode()),
		AttachConsistency:        uint64(c.GetAttachConsistencyMode()),
		RateLimiterCountersMode:  uint64(c.GetRateLimiterCountersMode()),
	}
}

// merge returns a config overridden by a change's set fields.
func merge(a, change asked) asked {
	return asked{
		SelfCheckPeriodMillis:    cmp.Or(change.SelfCheckPeriodMillis, a.SelfCheckPeriodMillis),
		SessionGracePeriodMillis: cmp.Or(change.SessionGracePeriodMillis, a.SessionGracePeriodMillis),
		ReadConsistency:          cmp.Or(change.ReadConsistency, a.ReadConsistency),
		AttachConsistency:        cmp.Or(change.AttachConsistency, a.AttachConsistency),
		RateLimiterCountersMode:  cmp.Or(change.RateLimiterCountersMode, a.RateLimiterCountersMode),
	}
}

// configOf returns a node's config: the valid values, and the requested values if they differ.
func configOf(a asked) protocol.NodeConfig {
	check := cmp.Or(a.SelfCheckPeriodMillis, defaultSelfCheckMillis)
	check = min(max(check, minSelfCheckMillis), maxSelfCheckMillis)
	grace := cmp.Or(a.SessionGracePeriodMillis, defaultGraceMillis)
	grace = min(max(grace, check+graceGapMillis), maxGraceMillis)
	known := func(mode uint64) uint64 {
		if mode > 2 {
			return 0
		}
		return mode
	}
	c := protocol.NodeConfig{
		ReadConsistency:         protocol.Consistency(known(a.ReadConsistency)),
		AttachConsistency:       protocol.Consistency(known(a.AttachConsistency)),
		RateLimiterCountersMode: protocol.CountersMode(known(a.RateLimiterCountersMode)),
	}
	if a.SelfCheckPeriodMillis != 0 {
		c.SelfCheckPeriodMillis = check
	}
	if a.SessionGracePeriodMillis != 0 || grace != defaultGraceMillis {
		c.SessionGracePeriodMillis = grace
	}
	differs := func(asked, holds uint64) uint64 {
		if asked == holds {
			return 0
		}
		return asked
	}
	c.Asked = asked{
		SelfCheckPeriodMillis:    differs(a.SelfCheckPeriodMillis, c.SelfCheckPeriodMillis),
		SessionGracePeriodMillis: differs(a.SessionGracePeriodMillis, c.SessionGracePeriodMillis),
		ReadConsistency:          differs(a.ReadConsistency, uint64(c.ReadConsistency)),
		AttachConsistency:        differs(a.AttachConsistency, uint64(c.AttachConsistency)),
		RateLimiterCountersMode:  differs(a.RateLimiterCountersMode, uint64(c.RateLimiterCountersMode)),
	}
	return c
}

// shownOf returns a node's config as requested.
func shownOf(c *protocol.NodeConfig) asked {
	return merge(asked{
		SelfCheckPeriodMillis: c.SelfCheckPeriodMillis, SessionGracePeriodMillis: c.SessionGracePeriodMillis,
		ReadConsistency: uint64(c.ReadConsistency), AttachConsistency: uint64(c.AttachConsistency),
		RateLimiterCountersMode: uint64(c.RateLimiterCountersMode),
	}, c.Asked)
}

func configShown(a asked) *Ydb_Coordination.Config {
	return &Ydb_Coordination.Config{
		SelfCheckPeriodMillis:    uint32(a.SelfCheckPeriodMillis),
		SessionGracePeriodMillis: uint32(a.SessionGracePeriodMillis),
		ReadConsistencyMode:      Ydb_Coordination.ConsistencyMode(a.ReadConsistency),
		AttachConsistencyMode:    Ydb_Coordination.ConsistencyMode(a.AttachConsistency),
		RateLimiterCountersMode:  Ydb_Coordination.RateLimiterCountersMode(a.RateLimiterCountersMode),
	}
}
