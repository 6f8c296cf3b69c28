package meta

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/signalbox/signalbox/protocol"
)

// ErrConfig is wrapped by every error of Validate.
var ErrConfig = errors.New("bad config")

// Config has a node's settings as chosen by its users. A zero field was never set; Effective has the value in force. No
// rule depends on Asked.
type Config protocol.NodeConfig

// Effective returns the config with unset fields replaced by defaults.
func (c Config) Effective() Config {
	return Config{
		SelfCheckPeriodMillis:    cmp.Or(c.SelfCheckPeriodMillis, DefaultSelfCheckPeriodMillis),
		SessionGracePeriodMillis: cmp.Or(c.SessionGracePeriodMillis, DefaultSessionGracePeriodMillis),
		ReadConsistency:          cmp.Or(c.ReadConsistency, DefaultReadConsistency),
		AttachConsistency:        cmp.Or(c.AttachConsistency, DefaultAttachConsistency),
		RateLimiterCountersMode:  cmp.Or(c.RateLimiterCountersMode, DefaultRateLimiterCountersMode),
		QuotaObjects:             cmp.Or(c.QuotaObjects, DefaultQuotaObjects),
		QuotaBytes:               cmp.Or(c.QuotaBytes, DefaultQuotaBytes),
		Asked:                    c.Asked,
		LongestWaitMillis:        cmp.Or(c.LongestWaitMillis, DefaultLongestWaitMillis),
	}
}

// Merge returns the config updated with the fields set in change. A set field can be changed, but never unset.
func (c Config) Merge(change Config) Config {
	return Config{
		SelfCheckPeriodMillis:    cmp.Or(change.SelfCheckPeriodMillis, c.SelfCheckPeriodMillis),
		SessionGracePeriodMillis: cmp.Or(change.SessionGracePeriodMillis, c.SessionGracePeriodMillis),
		ReadConsistency:          cmp.Or(change.ReadConsistency, c.ReadConsistency),
		AttachConsistency:        cmp.Or(change.AttachConsistency, c.AttachConsistency),
		RateLimiterCountersMode:  cmp.Or(change.RateLimiterCountersMode, c.RateLimiterCountersMode),
		QuotaObjects:             cmp.Or(change.QuotaObjects, c.QuotaObjects),
		QuotaBytes:               cmp.Or(change.QuotaBytes, c.QuotaBytes),
		Asked:                    c.askedAfter(change),
		LongestWaitMillis:        cmp.Or(change.LongestWaitMillis, c.LongestWaitMillis),
	}
}

// askedAfter is the value of Asked after a change. A field set by the change without an asked value loses its old asked
// value.
func (c Config) askedAfter(change Config) protocol.AskedConfig {
	before, after := askedFields(&c.Asked), askedFields(&change.Asked)
	for i, set := range []uint64{
		change.SelfCheckPeriodMillis, change.SessionGracePeriodMillis, uint64(change.ReadConsistency),
		uint64(change.AttachConsistency), uint64(change.RateLimiterCountersMode),
	} {
		if *after[i] == 0 && set == 0 {
			*after[i] = *before[i]
		}
	}
	return change.Asked
}

// Validate checks the effective config. Errors wrap ErrConfig and name the field and the rule.
func (c Config) Validate() error {
	e := c.Effective()
	check, grace := e.SelfCheckPeriodMillis, e.SessionGracePeriodMillis
	switch {
	case check < MinSelfCheckPeriodMillis || check > MaxSelfCheckPeriodMillis:
		return fmt.Errorf("%w: self_check_period_ms is %d; %d to %d are allowed",
			ErrConfig, check, MinSelfCheckPeriodMillis, MaxSelfCheckPeriodMillis)
	case grace < MinSessionGracePeriodMillis || grace > MaxSessionGracePeriodMillis:
		return fmt.Errorf("%w: session_grace_period_ms is %d; %d to %d are allowed",
			ErrConfig, grace, MinSessionGracePeriodMillis, MaxSessionGracePeriodMillis)
	case grace <= check:
		return fmt.Errorf("%w: session_grace_period_ms (%d) must be greater than self_check_period_ms (%d); "+
			"set both in one request", ErrConfig, grace, check)
	case e.ReadConsistency > protocol.ConsistencyRelaxed:
		return fmt.Errorf("%w: read_consistency %d is unknown", ErrConfig, e.ReadConsistency)
	case e.AttachConsistency > protocol.ConsistencyRelaxed:
		return fmt.Errorf("%w: attach_consistency %d is unknown", ErrConfig, e.AttachConsistency)
	case e.RateLimiterCountersMode > protocol.CountersDetailed:
		return fmt.Errorf("%w: rate_limiter_counters_mode %d is unknown", ErrConfig, e.RateLimiterCountersMode)
	case e.QuotaObjects < MinQuotaObjects || e.QuotaObjects > MaxQuotaObjects:
		return fmt.Errorf("%w: quota_objects is %d; %d to %d are allowed",
			ErrConfig, e.QuotaObjects, MinQuotaObjects, MaxQuotaObjects)
	case e.QuotaBytes < MinQuotaBytes || e.QuotaBytes > MaxQuotaBytes:
		return fmt.Errorf("%w: quota_bytes is %d; %d to %d are allowed",
			ErrConfig, e.QuotaBytes, MinQuotaBytes, uint64(MaxQuotaBytes))
	case e.LongestWaitMillis > MaxLongestWaitMillis && e.LongestWaitMillis != protocol.Forever:
		return fmt.Errorf("%w: longest_wait_ms is %d; at most %d are allowed, or for ever",
			ErrConfig, e.LongestWaitMillis, MaxLongestWaitMillis)
	}
	return nil
}
